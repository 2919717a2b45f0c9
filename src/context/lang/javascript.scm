; A name several patterns capture belongs to the first of them.

(class_declaration name: (_) @name) @class

(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function

(method_definition name: [(property_identifier) (private_property_identifier) (computed_property_name) (number) (string (string_fragment) @name)] @name) @method
(field_definition property: [(property_identifier) (private_property_identifier)] @name value: [(arrow_function) (function_expression) (generator_function)]) @method
(pair key: [(property_identifier) (string (string_fragment) @name)] @name value: [(arrow_function) (function_expression) (generator_function)]) @method

(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(assignment_expression left: [(identifier) (member_expression)] @name right: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression left: [(identifier) (member_expression)] @name right: (class)) @class

(program (lexical_declaration kind: "const" (variable_declarator name: (identifier) @name) @constant))
(program (lexical_declaration kind: "let" (variable_declarator name: (identifier) @name) @variable))
(program (variable_declaration (variable_declarator name: (identifier) @name) @variable))
(export_statement (lexical_declaration kind: "const" (variable_declarator name: (identifier) @name) @constant))
(export_statement (lexical_declaration (variable_declarator name: [(object_pattern [(shorthand_property_identifier_pattern) @name (pair_pattern value: (identifier) @name)]) (array_pattern (identifier) @name)]) @constant))
(export_statement (lexical_declaration kind: "let" (variable_declarator name: (identifier) @name) @variable))
(export_statement (variable_declaration (variable_declarator name: (identifier) @name) @variable))
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @variable

(import_statement source: (string) @source) @import
(import_statement (import_clause (identifier) @alias) source: (string) @source (#set! taken "default")) @import
(import_statement (import_clause (namespace_import (identifier) @alias)) source: (string) @source) @import
(import_statement (import_clause (named_imports (import_specifier name: (_) @taken alias: (_)? @alias))) source: (string) @source) @import
(export_statement source: (string) @source) @import
(export_statement (export_clause (export_specifier name: (_) @taken alias: (_)? @alias)) source: (string) @source) @import
(variable_declarator name: (identifier) @alias value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @source)) (#eq? @_require "require")) @import
(variable_declarator name: (object_pattern [(shorthand_property_identifier_pattern) @taken (pair_pattern key: (property_identifier) @taken value: (identifier) @alias)])
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @source)) (#eq? @_require "require")) @import

(export_statement !source (export_clause (export_specifier name: (_) @export)))
(export_statement value: (identifier) @export)
(assignment_expression left: (member_expression) @_exports right: (identifier) @export (#match? @_exports "^(module\\.)?exports\\b"))
(assignment_expression left: (member_expression) @_exports right: (object [(shorthand_property_identifier) @export (pair value: (identifier) @export)]) (#eq? @_exports "module.exports"))

; locals
[(function_declaration) (generator_function_declaration) (function_expression) (generator_function) (arrow_function) (method_definition)
 (statement_block) (for_statement) (for_in_statement) (catch_clause) (switch_body)] @scope
(formal_parameters [(identifier) @binding (assignment_pattern left: (identifier) @binding)])
(arrow_function parameter: (identifier) @binding)
(variable_declarator name: (identifier) @binding)
(variable_declarator name: [(object_pattern [(shorthand_property_identifier_pattern) @binding (pair_pattern value: (identifier) @binding)]) (array_pattern (identifier) @binding)])
(formal_parameters [(object_pattern [(shorthand_property_identifier_pattern) @binding (pair_pattern value: (identifier) @binding)]) (array_pattern (identifier) @binding)])
(object_assignment_pattern left: (shorthand_property_identifier_pattern) @binding)
(rest_pattern (identifier) @binding)
(for_in_statement left: (identifier) @binding)
(catch_clause parameter: (identifier) @binding)
