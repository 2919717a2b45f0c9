(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(type_alias_statement left: (type (identifier) @name)) @type

(assignment left: (identifier) @name right: (lambda)) @function
(module (expression_statement (assignment left: (identifier) @name) @constant) (#match? @name "^[A-Z][A-Z0-9_]*$"))
(module (expression_statement (assignment left: (identifier) @name) @variable))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @constant)) (#match? @name "^[A-Z][A-Z0-9_]*$"))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @variable)))

(import_statement name: (dotted_name) @source) @import
(import_statement name: (aliased_import name: (dotted_name) @source alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @source) @import
(import_from_statement module_name: (_) @source name: (dotted_name) @taken) @import
(import_from_statement module_name: (_) @source name: (aliased_import name: (dotted_name) @taken alias: (identifier) @alias)) @import

; locals
[(function_definition) (lambda) (list_comprehension) (set_comprehension) (dictionary_comprehension) (generator_expression)] @scope
(parameters [(identifier) @binding (typed_parameter . (identifier) @binding) (default_parameter name: (identifier) @binding) (typed_default_parameter name: (identifier) @binding)])
(lambda_parameters [(identifier) @binding (default_parameter name: (identifier) @binding)])
[(list_splat_pattern (identifier) @binding) (dictionary_splat_pattern (identifier) @binding)]
(assignment left: [(identifier) @binding (pattern_list (identifier) @binding) (tuple_pattern (identifier) @binding)])
(named_expression name: (identifier) @binding)
(for_statement left: [(identifier) @binding (pattern_list (identifier) @binding) (tuple_pattern (identifier) @binding)])
(for_in_clause left: [(identifier) @binding (pattern_list (identifier) @binding) (tuple_pattern (identifier) @binding)])
(as_pattern alias: (as_pattern_target (identifier) @binding))
[(global_statement (identifier) @elsewhere) (nonlocal_statement (identifier) @elsewhere)]
