(mod_item name: (identifier) @name) @module
(struct_item name: (type_identifier) @name) @struct
(union_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(trait_item name: (type_identifier) @name) @interface
(type_item name: (type_identifier) @name) @type
(associated_type name: (type_identifier) @name) @type
(macro_definition name: (identifier) @name) @macro
(impl_item type: [(type_identifier) (generic_type) (scoped_type_identifier name: (type_identifier) @name)] @name) @scope
(impl_item type: [(reference_type type: (_) @name) (primitive_type) @name]) @scope

(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(let_declaration pattern: (identifier) @name value: (closure_expression)) @function

(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @variable
(enum_variant name: (identifier) @name) @constant
(field_declaration name: (field_identifier) @name) @variable

(use_declaration argument: [(identifier) (scoped_identifier) (crate) (self)] @source) @import
(use_declaration argument: (scoped_identifier name: (_) @taken) @source) @import
(use_declaration argument: (use_wildcard . (_) @source)) @import
(use_declaration argument: (use_as_clause path: [(scoped_identifier name: (_) @taken) (identifier)] @source alias: (identifier) @alias)) @import
(use_declaration argument: (scoped_use_list path: (_) @source list: (use_list [(identifier) (self) (scoped_identifier)] @taken))) @import
(use_declaration argument: (scoped_use_list path: (_) @source list: (use_list (use_as_clause path: (_) @taken alias: (identifier) @alias)))) @import
(use_declaration argument: (scoped_use_list path: (_) @source list: (use_list (scoped_use_list path: (_) @taken)))) @import
(extern_crate_declaration name: (identifier) @source) @import

; locals
[(function_item) (closure_expression) (block) (for_expression) (match_arm) (if_expression) (while_expression)] @scope
(parameter pattern: [(identifier) @binding (mut_pattern (identifier) @binding) (tuple_pattern (identifier) @binding)])
(closure_parameters [(identifier) @binding (tuple_pattern (identifier) @binding) (reference_pattern (identifier) @binding)])
(let_declaration pattern: [(identifier) @binding (tuple_pattern (identifier) @binding)])
(for_expression pattern: [(identifier) @binding (tuple_pattern (identifier) @binding)])
