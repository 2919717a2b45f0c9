(namespace_definition name: [(namespace_identifier) (nested_namespace_specifier)] @name) @module
(function_definition declarator: (_) @name) @function
(class_specifier name: [(type_identifier) (template_type) (qualified_identifier)] @name body: (_)) @class
(struct_specifier name: [(type_identifier) (template_type) (qualified_identifier)] @name body: (_)) @struct
(union_specifier name: [(type_identifier) (template_type) (qualified_identifier)] @name body: (_)) @struct
(enum_specifier name: [(type_identifier) (qualified_identifier)] @name body: (_)) @enum
(concept_definition name: (identifier) @name) @type
(alias_declaration name: (type_identifier) @name) @type
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
(template_declaration (declaration declarator: (_) @name) @declaration)
(field_declaration_list (declaration declarator: (_) @name) @declaration) @_in
(field_declaration declarator: (_) @name) @declaration

(preproc_include path: (_) @source) @import
(using_declaration [(qualified_identifier) (identifier)] @source) @import

; locals
[(function_definition) (compound_statement) (for_statement) (lambda_expression) (for_range_loop) (catch_clause)] @scope
(parameter_declaration declarator: [(identifier) @binding (pointer_declarator declarator: (identifier) @binding) (array_declarator declarator: (identifier) @binding) (reference_declarator (identifier) @binding)])
(declaration declarator: [(identifier) @binding (pointer_declarator declarator: (identifier) @binding) (array_declarator declarator: (identifier) @binding)])
(init_declarator declarator: [(identifier) @binding (pointer_declarator declarator: (identifier) @binding) (array_declarator declarator: (identifier) @binding) (reference_declarator (identifier) @binding)])
(optional_parameter_declaration declarator: [(identifier) @binding (reference_declarator (identifier) @binding)])
(for_range_loop declarator: [(identifier) @binding (reference_declarator (identifier) @binding)])
