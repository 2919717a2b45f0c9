(package_clause name: (package_identifier) @name) @module
(class_definition name: (identifier) @name) @class
(object_definition name: (identifier) @name) @class
(package_object name: (identifier) @name) @class
(trait_definition name: (identifier) @name) @interface
(enum_definition name: (identifier) @name) @enum
(type_definition name: (type_identifier) @name) @type

(function_definition name: [(identifier) (operator_identifier)] @name) @function
(function_declaration name: [(identifier) (operator_identifier)] @name) @function
(val_definition pattern: (identifier) @name value: (lambda_expression)) @function

(simple_enum_case name: (identifier) @name) @constant
(full_enum_case name: (identifier) @name) @constant
(compilation_unit (val_definition pattern: (identifier) @name) @constant)
(template_body (val_definition pattern: (identifier) @name) @constant) @_in
(template_body (var_definition pattern: (identifier) @name) @variable) @_in
(template_body (val_declaration name: (identifier) @name) @constant) @_in
(template_body (var_declaration name: (identifier) @name) @variable) @_in

(import_declaration) @source @import
(import_declaration (identifier) @taken .) @source @import
(import_declaration (namespace_selectors (identifier) @taken)) @source @import
(import_declaration (namespace_selectors [(arrow_renamed_identifier name: (_) @taken alias: (_) @alias) (as_renamed_identifier name: (_) @taken alias: (_) @alias)])) @source @import

; locals
[(function_definition) (lambda_expression) (block) (case_clause) (for_expression)] @scope
(parameter name: (identifier) @binding)
(binding name: (identifier) @binding)
(lambda_expression parameters: (identifier) @binding)
(block (val_definition pattern: (identifier) @binding))
(block (var_definition pattern: (identifier) @binding))
(enumerator . (identifier) @binding)
