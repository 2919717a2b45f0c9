(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @variable)
(program (declaration_command "readonly" (variable_assignment name: (variable_name) @name) @constant))
(program (declaration_command (variable_assignment name: (variable_name) @name) @variable))

(command name: (command_name (word) @_source) . argument: (_) @source (#any-of? @_source "source" ".")) @import

; locals
(function_definition) @scope
(declaration_command "local" [(variable_name) @binding (variable_assignment name: (variable_name) @binding)])
