/// `tarn session export`: arguments after its name, as those of tool.h.
#ifndef TARN_SERVER_TOOL_TOOL_SESSION_H
#define TARN_SERVER_TOOL_TOOL_SESSION_H

int tool_session_export(int argc, char **argv);

#endif
