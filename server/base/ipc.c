// Messages as bytes, and their reader. One function, `payload`, lists the fields of each kind and serves both
// directions, so that what is written and what is read cannot drift apart.
#include "server/base/ipc.h"
#include "protocol/assert.h"
#include "protocol/frame.h"
#include "protocol/message_text.h"
#include "server/base/bytes.h"

#include <string.h>

/// A text of at most size - 1 bytes: u16 length, bytes without a NUL.
static void text(byte_codec *codec, char *value, size_t size)
{
    uint16_t length = 0;
    if (codec->writing) {
        size_t found = strnlen(value, size);
        refuse_when(codec, found == size);
        length = (uint16_t)found;
    }
    integer(codec, &length, sizeof length);
    refuse_when(codec, length >= size);
    uint8_t *bytes = advance(codec, length);
    if (bytes == NULL) {
        return;
    }
    if (codec->writing) {
        memcpy(bytes, value, length);
    } else {
        refuse_when(codec, memchr(bytes, 0, length) != NULL);
        memcpy(value, bytes, length);
        value[length] = 0;
    }
}

static void scenes(byte_codec *codec, tarn_ipc_scenes *message)
{
    count_up_to(codec, &message->count, TARN_SCENES_MAX);
    for (uint32_t i = 0; codec->status == TARN_OK && i < message->count; i++) {
        text(codec, message->names[i], sizeof message->names[i]);
    }
}

static void scene_faults(byte_codec *codec, tarn_ipc_scene_faults *message)
{
    count_up_to(codec, &message->count, TARN_SCENES_MAX);
    text(codec, message->newest, sizeof message->newest);
    text(codec, message->why, sizeof message->why);
}

static void worker_hello(byte_codec *codec, tarn_ipc_worker_hello *hello)
{
    u32(codec, &hello->version);
    text(codec, hello->program, sizeof hello->program);
    text(codec, hello->device, sizeof hello->device);
    count_up_to(codec, &hello->tanks_max, TARN_IPC_TANKS_MAX);
    scenes(codec, &hello->scenes);
}

static void present(byte_codec *codec, tarn_ipc_present *message)
{
    count_up_to(codec, &message->viewer_count, TARN_VIEWERS_MAX);
    for (uint32_t i = 0; codec->status == TARN_OK && i < message->viewer_count; i++) {
        u32(codec, &message->viewer_ids[i]);
    }
}

/// Whether a descriptor goes along with the message.
static void box(byte_codec *codec, int *fd)
{
    uint8_t is_there = *fd > 0;
    u8_up_to(codec, &is_there, 1);
    if (!codec->writing) {
        *fd = is_there;
    }
}

static void load(byte_codec *codec, tarn_ipc_load *message)
{
    u32(codec, &message->epoch);
    u32(codec, &message->viewer_id);
    u32(codec, &message->sequence);
    u8_up_to(codec, &message->paused, 1);
    u8_up_to(codec, &message->resumes, TARN_IPC_GOES_BACK);
    box(codec, &message->box);
    text(codec, message->scene, sizeof message->scene);
}

static bool is_speed(float speed)
{
    return speed >= TARN_SPEED_MIN && speed <= TARN_SPEED_MAX;
}

static void control(byte_codec *codec, tarn_ipc_control *message)
{
    u32(codec, &message->viewer_id);
    u32(codec, &message->sequence);
    u8_up_to(codec, &message->action, TARN_CONTROL_SPEED);
    f32(codec, &message->speed);
    refuse_when(codec, message->action == TARN_CONTROL_RESET || message->action == TARN_CONTROL_LOAD);
    refuse_when(codec, message->action == TARN_CONTROL_SPEED ? !is_speed(message->speed) : message->speed != 0.0f);
}

static void input(byte_codec *codec, tarn_ipc_input *message)
{
    u32(codec, &message->viewer_id);
    count_up_to(codec, &message->byte_count, TARN_IPC_INPUT_BYTES_MAX);
    refuse_when(codec, message->byte_count == 0);
    raw_bytes(codec, &message->bytes, message->byte_count);
}

static void state_head(byte_codec *codec, tarn_ipc_state_head *head)
{
    u32(codec, &head->save);
    u32(codec, &head->epoch);
    u64(codec, &head->step);
    u32(codec, &head->number);
    u64(codec, &head->state_bytes);
    refuse_when(codec, head->state_bytes == 0 || head->state_bytes > TARN_IPC_STATE_BYTES_MAX);
    count_up_to(codec, &head->presses_bytes, TARN_IPC_PRESSES_BYTES_MAX);
    u64(codec, &head->replay_until);
}

static void replay_wanted(byte_codec *codec, tarn_ipc_replay_wanted *message)
{
    u32(codec, &message->epoch);
    u64(codec, &message->from);
    u32(codec, &message->held);
}

static void replay(byte_codec *codec, tarn_ipc_replay *message)
{
    replay_wanted(codec, &message->at);
    count_up_to(codec, &message->byte_count, TARN_IPC_REPLAY_BYTES_MAX);
    u8_up_to(codec, &message->is_last, 1);
    box(codec, &message->box);
}

static void scene_told(byte_codec *codec, tarn_ipc_scene_told *message)
{
    u32(codec, &message->ask);
    count_up_to(codec, &message->lack, TARN_IPC_SCENE_LACK_COUNT - 1);
    count_up_to(codec, &message->byte_count, TARN_IPC_SCENE_TOLD_BYTES_MAX);
    text(codec, message->why, sizeof message->why);
}

static void state_chunk(byte_codec *codec, tarn_ipc_state_chunk *chunk)
{
    u64(codec, &chunk->at);
    count_up_to(codec, &chunk->byte_count, TARN_IPC_CHUNK_BYTES_MAX);
    refuse_when(codec, chunk->byte_count == 0);
    raw_bytes(codec, &chunk->bytes, chunk->byte_count);
}

static void added(byte_codec *codec, tarn_added_info *info)
{
    uint32_t shape = (uint32_t)info->shape;
    u32(codec, &info->number);
    count_up_to(codec, &shape, TARN_ADDED_SHAPE_COUNT - 1);
    info->shape = (tarn_added_shape)shape;
    u32(codec, &info->like);
    for (int axis = 0; axis < 3; axis++) {
        f32(codec, &info->half_m[axis]);
    }
    for (int axis = 0; axis < 3; axis++) {
        f32(codec, &info->position_m[axis]);
    }
    for (int i = 0; i < 4; i++) {
        f32(codec, &info->rotation[i]);
    }
    u32(codec, &info->colour);
}

static void channels(byte_codec *codec, tarn_channel_info *infos, uint32_t *count, uint32_t max)
{
    count_up_to(codec, count, max);
    for (uint32_t i = 0; codec->status == TARN_OK && i < *count; i++) {
        text(codec, infos[i].name, sizeof infos[i].name);
        text(codec, infos[i].label, sizeof infos[i].label);
        text(codec, infos[i].unit, sizeof infos[i].unit);
        text(codec, infos[i].kinds, sizeof infos[i].kinds);
    }
}

static void state(byte_codec *codec, tarn_ipc_state *message)
{
    tarn_session_state *session = &message->session;
    u32(codec, &message->epoch);
    text(codec, session->scene, sizeof session->scene);
    u8_up_to(codec, &session->paused, 1);
    for (int axis = 0; axis < 3; axis++) {
        f32(codec, &session->size_m[axis]);
    }
    f32(codec, &session->cell_m);
    f32(codec, &session->dt_s);
    f32(codec, &session->speed);
    u64(codec, &session->replay_until);
    count_up_to(codec, &session->parameter_count, TARN_PARAMETERS_MAX);
    for (uint32_t i = 0; codec->status == TARN_OK && i < session->parameter_count; i++) {
        tarn_parameter_info *parameter = &session->parameters[i];
        text(codec, parameter->name, sizeof parameter->name);
        f32(codec, &parameter->value);
        f32(codec, &parameter->min);
        f32(codec, &parameter->max);
        text(codec, parameter->label, sizeof parameter->label);
        text(codec, parameter->unit, sizeof parameter->unit);
        u8_up_to(codec, &parameter->whole, 1);
        u8_up_to(codec, &parameter->magnitudes, 1);
        text(codec, parameter->note, sizeof parameter->note);
    }
    text(codec, session->model, sizeof session->model);
    count_up_to(codec, &session->tools, TARN_TOOLS_ALL);
    channels(codec, session->channels, &session->channel_count, TARN_CHANNELS_MAX);
    channels(codec, session->fields, &session->field_count, TARN_FIELDS_MAX);
    count_up_to(codec, &session->added_count, TARN_ADDED_MAX);
    for (uint32_t i = 0; codec->status == TARN_OK && i < session->added_count; i++) {
        added(codec, &session->added[i]);
    }
    count_up_to(codec, &session->remark_count, TARN_REMARKS_MAX);
    for (uint32_t i = 0; codec->status == TARN_OK && i < session->remark_count; i++) {
        text(codec, session->remarks[i], sizeof session->remarks[i]);
        refuse_when(codec, session->remarks[i][0] == 0);
    }
}

static void probes(byte_codec *codec, tarn_ipc_probes *message)
{
    u32(codec, &message->revision);
    count_up_to(codec, &message->count, TARN_LIVE_PROBES_MAX);
    for (uint32_t i = 0; codec->status == TARN_OK && i < message->count; i++) {
        tarn_ipc_probe *probe = &message->probes[i];
        u32(codec, &probe->id);
        probe_shows(codec, &probe->shows);
        probe_place(codec, probe->at_m, probe->to_m);
        probe_solid(codec, &probe->solid);
        text(codec, probe->label, sizeof probe->label);
        probe_label_check(codec, probe->label);
    }
}

static void probed(byte_codec *codec, tarn_ipc_probed *message)
{
    u32(codec, &message->revision);
    count_up_to(codec, &message->count, TARN_LIVE_PROBES_MAX);
    for (uint32_t i = 0; codec->status == TARN_OK && i < message->count; i++) {
        text(codec, message->of[i].why, sizeof message->of[i].why);
        count_up_to(codec, &message->of[i].column_count, TARN_PROBE_VALUES_MAX);
        for (uint32_t k = 0; codec->status == TARN_OK && k < message->of[i].column_count; k++) {
            text(codec, message->of[i].columns[k], sizeof message->of[i].columns[k]);
            refuse_when(codec, message->of[i].columns[k][0] == 0);
        }
    }
}

static void readings(byte_codec *codec, tarn_ipc_readings *message)
{
    u32(codec, &message->revision);
    u32(codec, &message->epoch);
    u64(codec, &message->step);
    f32(codec, &message->dt_s);
    count_up_to(codec, &message->row_count, TARN_READINGS_ROWS_MAX);
    count_up_to(codec, &message->byte_count, TARN_READINGS_BYTES_MAX);
    refuse_when(codec, message->step > TARN_FRAME_INTEGER_MAX || !(message->dt_s >= 0.0f && message->dt_s <= 1.0f) ||
                           message->row_count == 0 || message->byte_count == 0 ||
                           message->byte_count % (message->row_count * sizeof(float)) != 0);
    raw_bytes(codec, &message->values, message->byte_count);
    for (uint32_t at = 0; codec->status == TARN_OK && at < message->byte_count; at += sizeof(float)) {
        float value;
        memcpy(&value, message->values + at, sizeof value);
        refuse_when(codec, !isfinite(value));
    }
}

static void refused(byte_codec *codec, tarn_ipc_refused *message)
{
    u32(codec, &message->viewer_id);
    u32(codec, &message->sequence);
    u32(codec, &message->code);
    text(codec, message->text, sizeof message->text);
}

static void report(byte_codec *codec, tarn_ipc_report *message)
{
    u64(codec, &message->step);
    f64(codec, &message->sim_time_s);
    f32(codec, &message->realtime_factor);
    f32(codec, &message->step_s);
    f32(codec, &message->encode_s);
    u32(codec, &message->particle_count);
    u64(codec, &message->encoder_bytes);
    u32(codec, &message->frames_replaced);
    u64(codec, &message->unconverged);
    f32(codec, &message->cost_s);
    refuse_when(codec, message->step > TARN_FRAME_INTEGER_MAX || message->encoder_bytes > TARN_FRAME_INTEGER_MAX ||
                           message->unconverged > TARN_FRAME_INTEGER_MAX ||
                           message->particle_count > TARN_FRAME_PARTICLES_MAX);
}

/// The fields of a message. @return false for a kind that is unknown
static bool payload(byte_codec *codec, tarn_ipc_message *message)
{
    switch (message->kind) {
    case TARN_IPC_GATEWAY_HELLO:
        u32(codec, &message->gateway_hello.version);
        text(codec, message->gateway_hello.program, sizeof message->gateway_hello.program);
        return true;
    case TARN_IPC_LOAD:
        load(codec, &message->load);
        return true;
    case TARN_IPC_PRESENT:
        present(codec, &message->present);
        return true;
    case TARN_IPC_SPEED:
        f32(codec, &message->speed.speed);
        refuse_when(codec, !is_speed(message->speed.speed));
        return true;
    case TARN_IPC_SCENE_WANTED:
        u32(codec, &message->scene_wanted.ask);
        box(codec, &message->scene_wanted.box);
        return true;
    case TARN_IPC_SCENE_TOLD:
        scene_told(codec, &message->scene_told);
        return true;
    case TARN_IPC_REPLAY:
        replay(codec, &message->replay);
        return true;
    case TARN_IPC_REPLAY_WANTED:
        replay_wanted(codec, &message->replay_wanted);
        return true;
    case TARN_IPC_RESET:
        u32(codec, &message->reset.epoch);
        u32(codec, &message->reset.viewer_id);
        u32(codec, &message->reset.sequence);
        return true;
    case TARN_IPC_CONTROL:
        control(codec, &message->control);
        return true;
    case TARN_IPC_AUDIENCE:
        u32(codec, &message->audience.viewer_count);
        text(codec, message->audience.channel, sizeof message->audience.channel);
        text(codec, message->audience.field, sizeof message->audience.field);
        u8_up_to(codec, &message->audience.readings, 1);
        return true;
    case TARN_IPC_INPUT:
        input(codec, &message->input);
        return true;
    case TARN_IPC_VIEWER_GONE:
        u32(codec, &message->viewer_gone.viewer_id);
        u32(codec, &message->viewer_gone.sequence);
        return true;
    case TARN_IPC_PING:
    case TARN_IPC_PONG:
        u32(codec, &message->ping.id);
        return true;
    case TARN_IPC_SHUTDOWN:
    case TARN_IPC_KEY_WANTED:
    case TARN_IPC_UNLOAD:
    case TARN_IPC_GO_ON:
        return true;
    case TARN_IPC_RESTORE:
        u32(codec, &message->restore.save);
        box(codec, &message->restore.box);
        text(codec, message->restore.scene, sizeof message->restore.scene);
        return true;
    case TARN_IPC_SAVE:
    case TARN_IPC_MADE:
        u32(codec, &message->save.save);
        return true;
    case TARN_IPC_STATE_WANTED:
        u64(codec, &message->state_wanted.until);
        return true;
    case TARN_IPC_STATE_HEAD:
        state_head(codec, &message->state_head);
        return true;
    case TARN_IPC_STATE_CHUNK:
        state_chunk(codec, &message->state_chunk);
        return true;
    case TARN_IPC_WORKER_HELLO:
        worker_hello(codec, &message->worker_hello);
        return true;
    case TARN_IPC_STATE:
        state(codec, &message->state);
        return true;
    case TARN_IPC_REFUSED:
        refused(codec, &message->refused);
        return true;
    case TARN_IPC_REPORT:
        report(codec, &message->report);
        return true;
    case TARN_IPC_SCENES:
        scenes(codec, &message->scenes);
        return true;
    case TARN_IPC_PROBES:
        probes(codec, &message->probes);
        return true;
    case TARN_IPC_SCENE_PROBES:
        text(codec, message->scene_probes.scene, sizeof message->scene_probes.scene);
        probes(codec, &message->scene_probes.of);
        return true;
    case TARN_IPC_PROBED:
        probed(codec, &message->probed);
        return true;
    case TARN_IPC_READINGS:
        readings(codec, &message->readings);
        return true;
    case TARN_IPC_SCENE_FAULTS:
        scene_faults(codec, &message->scene_faults);
        return true;
    case TARN_IPC_FAULT:
        text(codec, message->fault.text, sizeof message->fault.text);
        return true;
    case TARN_IPC_STAMPS:
        u64(codec, &message->stamps.latched_ns);
        u64(codec, &message->stamps.stepped_ns);
        u64(codec, &message->stamps.encoded_ns);
        return true;
    case TARN_IPC_FRAME:
        break;
    }
    return false;
}

static void header_write(uint32_t kind, uint32_t tank, uint32_t payload_bytes, uint8_t *bytes)
{
    uint32_t words[4] = {TARN_IPC_MAGIC, kind, tank, payload_bytes};
    memcpy(bytes, words, TARN_IPC_HEADER_BYTES);
}

tarn_status tarn_ipc_write(const tarn_ipc_message *message, uint8_t *bytes, size_t bytes_max, size_t *byte_count)
{
    if (bytes_max < TARN_IPC_HEADER_BYTES) {
        return TARN_E_SPACE;
    }
    size_t room = bytes_max - TARN_IPC_HEADER_BYTES;
    if (room > TARN_IPC_PAYLOAD_BYTES_MAX) {
        room = TARN_IPC_PAYLOAD_BYTES_MAX;
    }
    uint8_t *start = bytes + TARN_IPC_HEADER_BYTES;
    byte_codec codec = {.at = start, .end = start + room, .writing = true};
    // While writing, `payload` only reads from the message.
    if (!payload(&codec, (tarn_ipc_message *)message)) {
        return TARN_E_ARGUMENT;
    }
    if (codec.status != TARN_OK) {
        return codec.status;
    }
    header_write(message->kind, message->tank, (uint32_t)(codec.at - start), bytes);
    *byte_count = (size_t)(codec.at - bytes);
    TARN_ASSERT(*byte_count <= bytes_max);
    return TARN_OK;
}

void tarn_ipc_frame_header(uint32_t tank, uint32_t frame_bytes, uint8_t *bytes)
{
    header_write(TARN_IPC_FRAME, tank, frame_bytes, bytes);
}

tarn_status tarn_ipc_read(uint32_t kind, uint32_t tank, const uint8_t *bytes, size_t payload_bytes,
                          tarn_ipc_message *message)
{
    tarn_ipc_message read;
    memset(&read, 0, sizeof read);
    read.kind = (tarn_ipc_kind)kind;
    read.tank = tank;
    // While reading, `payload` only reads from the bytes.
    byte_codec codec = {.at = (uint8_t *)bytes, .end = (uint8_t *)bytes + payload_bytes};
    if (!payload(&codec, &read)) {
        return TARN_E_UNKNOWN_KIND;
    }
    if (codec.status != TARN_OK) {
        return codec.status;
    }
    if (codec.at != codec.end) {
        return TARN_E_MALFORMED;
    }
    *message = read;
    return TARN_OK;
}

void tarn_ipc_reader_init(tarn_ipc_reader *reader, const tarn_ipc_sink *sink)
{
    reader->sink = *sink;
    reader->frame = NULL;
    reader->staged = 0;
}

uint8_t *tarn_ipc_reader_space(tarn_ipc_reader *reader, size_t *bytes_max)
{
    if (reader->frame != NULL) {
        TARN_ASSERT(reader->frame_have < reader->frame_bytes);
        *bytes_max = reader->frame_bytes - reader->frame_have;
        return reader->frame + reader->frame_have;
    }
    TARN_ASSERT(reader->staged < sizeof reader->staging); // a whole message always fits
    *bytes_max = sizeof reader->staging - reader->staged;
    return reader->staging + reader->staged;
}

void tarn_ipc_reader_divert(tarn_ipc_reader *reader, uint32_t tank, uint8_t *space)
{
    if (reader->frame != NULL && reader->frame_tank == tank) {
        TARN_ASSERT(space != NULL);
        reader->frame = space;
    }
}

static tarn_status read_frame(tarn_ipc_reader *reader, size_t byte_count)
{
    TARN_ASSERT(byte_count <= reader->frame_bytes - reader->frame_have);
    reader->frame_have += (uint32_t)byte_count;
    if (reader->frame_have < reader->frame_bytes) {
        return TARN_OK;
    }
    reader->frame = NULL;
    return reader->sink.frame(reader->sink.user, reader->frame_tank, reader->frame_bytes);
}

/// Moves what is staged of a frame to where the frame goes. @return how many bytes were taken, or a negative status
static int64_t frame_begin(tarn_ipc_reader *reader, uint32_t tank, uint32_t frame_bytes, const uint8_t *bytes,
                           size_t available)
{
    if (frame_bytes == 0 || frame_bytes > TARN_IPC_FRAME_BYTES_MAX || reader->sink.frame_space == NULL) {
        return TARN_E_LIMIT;
    }
    reader->frame = reader->sink.frame_space(reader->sink.user, tank, frame_bytes);
    if (reader->frame == NULL) {
        return TARN_E_LIMIT;
    }
    reader->frame_tank = tank;
    reader->frame_bytes = frame_bytes;
    reader->frame_have = 0;
    size_t taken = available < frame_bytes ? available : frame_bytes;
    memcpy(reader->frame, bytes, taken);
    tarn_status status = read_frame(reader, taken);
    return status == TARN_OK ? (int64_t)taken : status;
}

/// Handles the message at `bytes`. @return how many bytes it took, 0 when it isn't complete, or a negative status
static int64_t read_message(tarn_ipc_reader *reader, const uint8_t *bytes, size_t available)
{
    if (available < TARN_IPC_HEADER_BYTES) {
        return 0;
    }
    uint32_t words[4];
    memcpy(words, bytes, sizeof words);
    uint32_t kind = words[1], tank = words[2], payload_bytes = words[3];
    if (words[0] != TARN_IPC_MAGIC) {
        return TARN_E_MALFORMED;
    }
    available -= TARN_IPC_HEADER_BYTES;
    bytes += TARN_IPC_HEADER_BYTES;
    if (kind == TARN_IPC_FRAME) {
        int64_t taken = frame_begin(reader, tank, payload_bytes, bytes, available);
        return taken < 0 ? taken : taken + TARN_IPC_HEADER_BYTES;
    }
    if (payload_bytes > TARN_IPC_PAYLOAD_BYTES_MAX) {
        return TARN_E_LIMIT;
    }
    if (available < payload_bytes) {
        return 0;
    }
    tarn_ipc_message message;
    tarn_status status = tarn_ipc_read(kind, tank, bytes, payload_bytes, &message);
    if (status == TARN_OK) {
        status = reader->sink.message(reader->sink.user, &message);
    }
    return status == TARN_OK ? (int64_t)payload_bytes + TARN_IPC_HEADER_BYTES : status;
}

tarn_status tarn_ipc_reader_commit(tarn_ipc_reader *reader, size_t byte_count)
{
    if (reader->frame != NULL) {
        return read_frame(reader, byte_count);
    }
    TARN_ASSERT(byte_count <= sizeof reader->staging - reader->staged);
    reader->staged += byte_count;
    size_t used = 0;
    while (reader->frame == NULL) {
        int64_t taken = read_message(reader, reader->staging + used, reader->staged - used);
        if (taken < 0) {
            return (tarn_status)taken;
        }
        if (taken == 0) {
            break;
        }
        used += (size_t)taken;
    }
    TARN_ASSERT(used <= reader->staged);
    memmove(reader->staging, reader->staging + used, reader->staged - used);
    reader->staged -= used;
    return TARN_OK;
}
