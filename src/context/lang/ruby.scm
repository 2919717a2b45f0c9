(module name: (_) @name) @module
(class name: (_) @name) @class
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(alias name: (_) @name) @method
(assignment left: (identifier) @name right: (lambda)) @function
(assignment left: [(constant) (scope_resolution)] @name right: (call receiver: (constant) @_class method: (identifier) @_new (#match? @_class "^(Class|Struct|Data)$") (#any-of? @_new "new" "define"))) @class
(assignment left: [(constant) (scope_resolution)] @name) @constant

(call !receiver method: (identifier) @_require arguments: (argument_list . (string (string_content) @source)) (#any-of? @_require "require" "require_relative" "load")) @import

; locals
[(method) (singleton_method) (block) (do_block) (lambda)] @scope
(method_parameters [(identifier) @binding (optional_parameter name: (identifier) @binding) (keyword_parameter name: (identifier) @binding)
  (splat_parameter name: (identifier) @binding) (hash_splat_parameter name: (identifier) @binding) (block_parameter name: (identifier) @binding)])
(block_parameters (identifier) @binding)
(lambda_parameters (identifier) @binding)
(assignment left: [(identifier) @binding (left_assignment_list (identifier) @binding)])
