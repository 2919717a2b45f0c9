(namespace_declaration name: (_) @name) @module
(file_scoped_namespace_declaration name: (_) @name) @module
(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @struct
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(delegate_declaration name: (identifier) @name) @type

(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(destructor_declaration name: (identifier) @name) @method
(operator_declaration operator: _ @name) @method
(conversion_operator_declaration type: (_) @name) @method
(local_function_statement name: (identifier) @name) @function

(enum_member_declaration name: (identifier) @name) @constant
(field_declaration (modifier "const") (variable_declaration (variable_declarator name: (identifier) @name))) @constant
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name (lambda_expression)))) @method
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @variable
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @variable
(property_declaration name: (identifier) @name) @variable

(using_directive !name [(qualified_name) (identifier)] @source) @import
(using_directive name: (identifier) @alias [(qualified_name) (identifier)] @source) @import

; locals
[(method_declaration) (constructor_declaration) (local_function_statement) (lambda_expression) (block) (for_statement) (foreach_statement) (catch_clause)
 (using_statement) (switch_section)] @scope
(parameter name: (identifier) @binding)
(implicit_parameter) @binding
(local_declaration_statement (variable_declaration (variable_declarator name: (identifier) @binding)))
(foreach_statement left: (identifier) @binding)
(catch_declaration name: (identifier) @binding)
(declaration_expression name: (identifier) @binding)
(for_statement initializer: (variable_declaration (variable_declarator name: (identifier) @binding)))
