(class_interface . (identifier) @name) @class
(class_implementation . (identifier) @name) @class
(protocol_declaration . (identifier) @name) @interface
(method_declaration . (method_type) . (identifier) @name) @method
(method_declaration . (identifier) @name) @method
(method_definition . (method_type) . (identifier) @name) @method
(method_definition . (identifier) @name) @method
(property_declaration (struct_declaration (struct_declarator (_) @name))) @variable
(function_definition declarator: (_) @name) @function
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @struct
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(type_definition declarator: (_) @name) @type
(preproc_def name: (identifier) @name) @macro
(preproc_function_def name: (identifier) @name) @macro
(enumerator name: (identifier) @name) @constant

(translation_unit (declaration declarator: (_) @name) @declaration)
(ERROR (declaration declarator: (_) @name) @declaration)
(preproc_if (declaration declarator: (_) @name) @declaration)
(preproc_ifdef (declaration declarator: (_) @name) @declaration)
(preproc_else (declaration declarator: (_) @name) @declaration)

(preproc_include path: (_) @source) @import

; locals
[(function_definition) (compound_statement) (for_statement) (method_definition)] @scope
(parameter_declaration declarator: [(identifier) @binding (pointer_declarator declarator: (identifier) @binding) (array_declarator declarator: (identifier) @binding)])
(declaration declarator: [(identifier) @binding (pointer_declarator declarator: (identifier) @binding) (array_declarator declarator: (identifier) @binding)])
(init_declarator declarator: [(identifier) @binding (pointer_declarator declarator: (identifier) @binding) (array_declarator declarator: (identifier) @binding)])
(method_parameter (identifier) @binding)
