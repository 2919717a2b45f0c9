(namespace_definition name: (namespace_name) @name) @module
(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(trait_declaration name: (name) @name) @class
(enum_declaration name: (name) @name) @enum

(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @method
(assignment_expression left: (variable_name (name) @name) right: [(anonymous_function) (arrow_function)]) @function

(enum_case name: (name) @name) @constant
(const_element . (name) @name) @constant
(function_call_expression function: (name) @_define arguments: (arguments . (argument (string (string_content) @name))) (#eq? @_define "define")) @constant
(property_element name: (variable_name (name) @name)) @variable
(property_promotion_parameter name: (variable_name (name) @name)) @variable

(namespace_use_declaration (namespace_use_clause . [(qualified_name (name) @taken) (name)] @source alias: (name)? @alias)) @import
(namespace_use_declaration (namespace_name) @source body: (namespace_use_group (namespace_use_clause . (_) @taken alias: (name)? @alias))) @import

; locals
[(function_definition) (method_declaration) (anonymous_function) (arrow_function)] @scope
(simple_parameter name: (variable_name (name) @binding))
(variadic_parameter name: (variable_name (name) @binding))
(assignment_expression left: (variable_name (name) @binding))
(foreach_statement (variable_name (name) @binding))
(catch_clause name: (variable_name (name) @binding))
(global_declaration (variable_name (name) @elsewhere))
