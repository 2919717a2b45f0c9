(package_clause (package_identifier) @name) @module
(type_spec name: (type_identifier) @name type: (struct_type)) @struct
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(type_spec name: (type_identifier) @name) @type
(type_alias name: (type_identifier) @name) @type

(function_declaration name: (identifier) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @container
    (generic_type type: (type_identifier) @container)
    (pointer_type [(type_identifier) @container (generic_type type: (type_identifier) @container)])
    (parenthesized_type (pointer_type (type_identifier) @container))
  ])) name: (field_identifier) @name) @method
(interface_type (method_elem name: (field_identifier) @name) @method)
(var_spec name: (identifier) @name value: (expression_list . (func_literal) .)) @function

(source_file (const_declaration (const_spec (identifier) @name) @constant))
(source_file (var_declaration [(var_spec name: (identifier) @name) @variable (var_spec_list (var_spec name: (identifier) @name) @variable)]))
(field_declaration name: (field_identifier) @name) @variable

(import_spec path: (_) @source) @import
(import_spec name: [(package_identifier) (blank_identifier) (dot)] @alias path: (_) @source) @import

; locals
[(function_declaration) (method_declaration) (func_literal) (block) (if_statement) (for_statement) (expression_switch_statement) (type_switch_statement)
 (expression_case) (type_case) (default_case) (communication_case)] @scope
(parameter_declaration name: (identifier) @binding)
(variadic_parameter_declaration name: (identifier) @binding)
(short_var_declaration left: (expression_list (identifier) @binding))
(range_clause left: (expression_list (identifier) @binding))
(receive_statement left: (expression_list (identifier) @binding))
(var_spec name: (identifier) @binding)
(const_spec (identifier) @binding)
(type_switch_statement alias: (expression_list (identifier) @binding))
