(class_declaration "interface" name: (identifier) @name) @interface
(class_declaration (modifiers (class_modifier "enum")) name: (identifier) @name) @enum
(class_declaration name: (identifier) @name) @class
(object_declaration name: (identifier) @name) @class
(companion_object name: (identifier) @name) @class
(type_alias type: (identifier) @name) @type

(function_declaration name: (identifier) @name) @function
(property_declaration (variable_declaration (identifier) @name) [(lambda_literal) (anonymous_function)]) @function
(enum_entry (identifier) @name) @constant

(source_file (property_declaration "val" (variable_declaration (identifier) @name)) @constant)
(source_file (property_declaration "var" (variable_declaration (identifier) @name)) @variable)
(class_body (property_declaration "val" (variable_declaration (identifier) @name)) @constant) @_in
(class_body (property_declaration "var" (variable_declaration (identifier) @name)) @variable) @_in
(enum_class_body (property_declaration "val" (variable_declaration (identifier) @name)) @constant) @_in
(enum_class_body (property_declaration "var" (variable_declaration (identifier) @name)) @variable) @_in
(class_parameter ["val" "var"] (identifier) @name) @variable

(import (qualified_identifier) @source) @import
(import (qualified_identifier (identifier) @taken .) @source . (identifier)? @alias .) @import

; locals
[(function_declaration) (lambda_literal) (anonymous_function) (block) (for_statement) (catch_block)] @scope
(parameter . (identifier) @binding)
(lambda_parameters (variable_declaration . (identifier) @binding))
(property_declaration (variable_declaration . (identifier) @binding))
(for_statement (variable_declaration . (identifier) @binding))
