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
(preproc_elif (declaration declarator: (_) @name) @declaration)
(linkage_specification body: (declaration declarator: (_) @name) @declaration)
(declaration_list (declaration declarator: (_) @name) @declaration) @_in
(field_declaration declarator: (_) @name) @variable

(preproc_include path: (_) @source) @import

; locals
[(function_definition) (compound_statement) (for_statement)] @scope
(parameter_declaration declarator: [(identifier) @binding (pointer_declarator declarator: (identifier) @binding) (array_declarator declarator: (identifier) @binding)])
(declaration declarator: [(identifier) @binding (pointer_declarator declarator: (identifier) @binding) (array_declarator declarator: (identifier) @binding)])
(init_declarator declarator: [(identifier) @binding (pointer_declarator declarator: (identifier) @binding) (array_declarator declarator: (identifier) @binding)])
