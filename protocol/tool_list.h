/// What people do to a tank with a pointer, a controller or a hand: the one list of tools, in the order in which people
/// are offered them. SPEC.md says what each does.
#ifndef TARN_PROTOCOL_TOOL_LIST_H
#define TARN_PROTOCOL_TOOL_LIST_H

/// X(name, word on the wire)
#define TARN_TOOLS(X)                                                                                                  \
    X(PUSH, "push")                                                                                                    \
    X(PULL, "pull")                                                                                                    \
    X(VORTEX, "vortex")                                                                                                \
    X(POUR, "pour")                                                                                                    \
    X(DRAIN, "drain")                                                                                                  \
    X(DYE, "dye")                                                                                                      \
    X(THROW, "throw") /* a floating body */                                                                            \
    X(WALL, "wall")                                                                                                    \
    X(ERASE, "erase") /* walls */

#define TARN_TOOL_ENTRY(name, word) TARN_TOOL_##name,
typedef enum tarn_tool { TARN_TOOLS(TARN_TOOL_ENTRY) TARN_TOOL_COUNT } tarn_tool;
#undef TARN_TOOL_ENTRY

/// Sets of tools: bits.
#define TARN_TOOL_BIT(name) (1u << TARN_TOOL_##name)
#define TARN_TOOLS_ALL ((1u << TARN_TOOL_COUNT) - 1)

#endif
