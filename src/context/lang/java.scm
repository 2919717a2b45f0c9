(package_declaration [(scoped_identifier) (identifier)] @name) @module
(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum

(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(compact_constructor_declaration name: (identifier) @name) @method
(annotation_type_element_declaration name: (identifier) @name) @method

(enum_constant name: (identifier) @name) @constant
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @constant
(field_declaration (modifiers "static" "final") declarator: (variable_declarator name: (identifier) @name)) @constant
(field_declaration declarator: (variable_declarator name: (identifier) @name value: (lambda_expression))) @method
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @variable

(import_declaration [(scoped_identifier) (identifier)] @source) @import
(import_declaration (scoped_identifier name: (identifier) @taken) @source .) @import

; locals
[(method_declaration) (constructor_declaration) (compact_constructor_declaration) (lambda_expression) (block) (for_statement) (enhanced_for_statement)
 (catch_clause) (try_with_resources_statement) (switch_block)] @scope
(formal_parameter name: (identifier) @binding)
(spread_parameter (variable_declarator name: (identifier) @binding))
(catch_formal_parameter name: (identifier) @binding)
(lambda_expression parameters: [(identifier) @binding (inferred_parameters (identifier) @binding)])
(local_variable_declaration declarator: (variable_declarator name: (identifier) @binding))
(enhanced_for_statement name: (identifier) @binding)
(resource name: (identifier) @binding)
