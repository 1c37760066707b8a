// PLY and binary glTF are read whole or refused with a sentence that says where, what was found and what is allowed.
#include "tests/shapes/mesh_expect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka.h needs the four headers above it.
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

// ---- PLY ----

#define PLY_HEAD "ply\nformat ascii 1.0\n"
#define PLY_VERTICES "element vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
#define PLY_FACES "element face 2\nproperty list uchar int vertex_indices\n"
#define PLY_CORNERS "0 0 0\n1 0 0\n1 1 0\n-0 1 0\n"
#define PLY_SQUARE PLY_HEAD PLY_VERTICES PLY_FACES "end_header\n" PLY_CORNERS "3 0 1 2\n3 0 2 3\n"

/// The same square as bytes: points as doubles among other things, faces of a list of another type first.
/// @return the number of bytes
static size_t write_binary_ply(char *bytes, bool is_big)
{
    static const char head[] = "ply\r\nformat %s 1.0\r\ncomment a square\r\nelement face 1\r\n"
                               "property list uchar float other\r\nproperty list uint8 uint16 vertex_index\r\n"
                               "property short material\r\nelement vertex 4\r\nproperty uchar red\r\n"
                               "property double x\r\nproperty double y\r\nproperty float64 z\r\n"
                               "element edge 1\r\nproperty int a\r\nend_header\r\n";
    char *at = bytes + sprintf(bytes, head, is_big ? "binary_big_endian" : "binary_little_endian");
    uint8_t values[256];
    size_t count = 0;
    values[count++] = 2; // of two floats
    memset(values + count, 0xff, 8);
    count += 8;
    values[count++] = 4;
    for (int i = 0; i < 4; i++) {
        values[count++] = is_big ? 0 : (uint8_t)i;
        values[count++] = is_big ? (uint8_t)i : 0;
    }
    values[count++] = 7;
    values[count++] = 7;
    static const double corners[4][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {-0.0, 1, 0}};
    for (int i = 0; i < 4; i++) {
        values[count++] = 255;
        for (int a = 0; a < 3; a++) {
            uint8_t little[8];
            memcpy(little, &corners[i][a], 8);
            for (int k = 0; k < 8; k++) {
                values[count++] = little[is_big ? 7 - k : k];
            }
        }
    }
    memset(values + count, 0, 4);
    count += 4;
    memcpy(at, values, count);
    return (size_t)(at - bytes) + count;
}

static void all_forms_of_ply_are_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        PLY_SQUARE,
        PLY_HEAD "comment made by hand\nobj_info 1\nelement vertex 4\nproperty float32 x\nproperty float32 y\n"
                 "property float32 z\nproperty float nx\nproperty uchar red\nelement face 1\n"
                 "property list uint8 int32 vertex_index\nproperty list uchar float texcoord\nelement edge 1\n"
                 "property int a\nproperty int b\nend_header\n"
                 "0 0 0 nan 255\n1 0 0 1 2\n1 1 0 1 2\n0 1 0 1 2\n4 0 1 2 3 2 0.5 0.5\n0 1\n\n",
        "\xef\xbb\xbf" PLY_SQUARE,
        "ply\nformat ascii 1.0\rend_header",
    };
    for (size_t i = 0; i < 3; i++) {
        tarn_mesh mesh = mesh_expect_read(TARN_MESH_FORMAT_PLY, texts[i], strlen(texts[i]));
        mesh_expect_square(&mesh);
    }
    mesh_expect_refusal(TARN_MESH_FORMAT_PLY, texts[3], strlen(texts[3]), TARN_E_MALFORMED, "found no triangles");
    for (int is_big = 0; is_big < 2; is_big++) {
        char bytes[1024];
        const size_t count = write_binary_ply(bytes, is_big);
        tarn_mesh mesh = mesh_expect_read(TARN_MESH_FORMAT_PLY, bytes, count);
        mesh_expect_square(&mesh);
        for (size_t cut = 0; cut < count; cut++) {
            mesh_expect_refusal(TARN_MESH_FORMAT_PLY, bytes, cut, TARN_E_MALFORMED,
                                cut > 0 ? "found " : "found an empty");
        }
        mesh_expect_refusal(TARN_MESH_FORMAT_PLY, bytes, count + 1, TARN_E_MALFORMED,
                            "found more behind the last element");
    }
}

static void malformed_ply_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
        tarn_status status; // 0: TARN_E_MALFORMED
    } cases[] = {
        {"play\n", "line 1: found something else than \"ply\"", TARN_OK},
        {"ply\n", "found the end of the file, allowed is \"end_header\"", TARN_OK},
        {"ply\nend_header\n", "line 2: found no format", TARN_OK},
        {"ply\nformat binary 1.0\n", "line 2: found the format \"binary\" \"1.0\", allowed are ascii", TARN_OK},
        {"ply\nformat ascii 2.0\n", "found the format \"ascii\" \"2.0\"", TARN_OK},
        {"ply\nproperty float x\n", "line 2: found a property before the first element", TARN_OK},
        {PLY_HEAD "element vertex -1\n", "found the element \"vertex\" \"-1\"", TARN_OK},
        {PLY_HEAD "element vertex 3145729\n", "found 3145729 elements \"vertex\", allowed are at most 3145728",
         TARN_E_LIMIT},
        {PLY_HEAD "element face 1048577\n", "allowed are at most 1048576", TARN_E_LIMIT},
        {PLY_HEAD "element vertex 1\nelement vertex 1\n", "found the element \"vertex\" twice", TARN_OK},
        {PLY_HEAD "element tristrips 1\n", "found triangles as \"tristrips\", allowed are faces", TARN_OK},
        {PLY_HEAD "element vertex 1\nproperty half x\n", "line 4: found the type \"half\", allowed are char", TARN_OK},
        {PLY_HEAD "element vertex 1\nproperty float x\nproperty float x\n",
         "line 5: found a property of \"vertex\" twice", TARN_OK},
        {PLY_HEAD "elements\n", "line 3: found \"elements\", allowed are format, element", TARN_OK},
        {PLY_HEAD "element edge 2000000000\nend_header\n", "found no properties of the element \"edge\"", TARN_OK},
        {PLY_HEAD "element vertex 1\nproperty float x\nproperty float z\nend_header\n0 0\n",
         "found vertices without x, y or z", TARN_OK},
        {PLY_HEAD "element face 1\nproperty list uchar int other\nend_header\n0\n", "found faces without corners",
         TARN_OK},
        {PLY_HEAD PLY_VERTICES "end_header\n" PLY_CORNERS, "found no triangles, allowed are 1 to 1048576", TARN_OK},
        {PLY_HEAD PLY_FACES "end_header\n3 0 1 2\n3 0 1 2\n", "found faces and no vertices", TARN_OK},
        {PLY_HEAD PLY_VERTICES PLY_FACES "end_header\n" PLY_CORNERS "2 0 1\n",
         "line 14: \"face\" 0: found 2 corners, allowed are 3 or more", TARN_OK},
        {PLY_HEAD PLY_VERTICES PLY_FACES "end_header\n" PLY_CORNERS "3 0 1 4\n",
         "\"face\" 0: found 4 for a corner, allowed is a whole number from 0 to 3", TARN_OK},
        {PLY_HEAD PLY_VERTICES PLY_FACES "end_header\n" PLY_CORNERS "3 0 -1 2\n", "found -1 for a corner", TARN_OK},
        {PLY_HEAD PLY_VERTICES PLY_FACES "end_header\n" PLY_CORNERS "3 0 1.5 2\n", "found 1.5 for a corner", TARN_OK},
        {PLY_HEAD PLY_VERTICES PLY_FACES "end_header\n" PLY_CORNERS "-3 0 1 2\n", "found -3 for a list's length",
         TARN_OK},
        {PLY_HEAD PLY_VERTICES PLY_FACES "end_header\n0 0 0\n1 x 0\n", "line 11: found \"x\" in \"vertex\" 1", TARN_OK},
        {PLY_HEAD PLY_VERTICES PLY_FACES "end_header\n0 0 0\n1 1e9 0\n",
         "line 11: vertex 1: found 1e+09 for y, allowed is a number from -100000 to 100000", TARN_OK},
        {PLY_HEAD PLY_VERTICES PLY_FACES "end_header\n" PLY_CORNERS "3 0 1 2\n",
         "found the end of the file in \"face\" 1, allowed are 2 as the head says", TARN_OK},
        {PLY_SQUARE "7\n", "found more behind the last element", TARN_OK},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        mesh_expect_refusal(TARN_MESH_FORMAT_PLY, cases[i].text, strlen(cases[i].text),
                            cases[i].status != TARN_OK ? cases[i].status : TARN_E_MALFORMED, cases[i].part);
    }
}

// ---- binary glTF ----

enum { GLB_BYTES = 4096 };

static void put_u32(char *bytes, size_t number)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (char)(number >> 8 * i & 255);
    }
}

/// A file of this JSON, in which ' stands for ", and of the square's corners (at byte 0) and triangles (u16, at 48).
/// @return the number of bytes
static size_t write_glb(char bytes[GLB_BYTES], const char *text)
{
    static const float corners[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
    static const uint16_t triangles[] = {0, 1, 2, 0, 2, 3};
    const size_t text_bytes = strlen(text), padded = (text_bytes + 3) / 4 * 4, own = sizeof corners + sizeof triangles;
    assert_true(28 + padded + own <= GLB_BYTES);
    memset(bytes, ' ', 28 + padded);
    put_u32(bytes, 0x46546c67); // glTF
    put_u32(bytes + 4, 2);
    put_u32(bytes + 8, 28 + padded + own);
    put_u32(bytes + 12, padded);
    put_u32(bytes + 16, 0x4e4f534a); // JSON
    for (size_t i = 0; i < text_bytes; i++) {
        bytes[20 + i] = (char)(text[i] == '\'' ? '"' : text[i]);
    }
    put_u32(bytes + 20 + padded, own);
    put_u32(bytes + 24 + padded, 0x004e4942); // BIN
    memcpy(bytes + 28 + padded, corners, sizeof corners);
    memcpy(bytes + 28 + padded + sizeof corners, triangles, sizeof triangles);
    return 28 + padded + own;
}

#define GLB_ACCESSORS                                                                                                  \
    "'accessors':[{'bufferView':0,'componentType':5126,'type':'VEC3','count':4},"                                      \
    "{'bufferView':1,'componentType':5123,'type':'SCALAR','count':6}],"
#define GLB_VIEWS                                                                                                      \
    "'buffers':[{'byteLength':60}],'bufferViews':[{'buffer':0,'byteLength':48},"                                       \
    "{'buffer':0,'byteOffset':48,'byteLength':12}]"
#define GLB_MESH "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'indices':1}]}],"
#define GLB_ASSET "{'asset':{'version':'2.0'},"
#define GLB_REST GLB_MESH GLB_ACCESSORS GLB_VIEWS "}"
#define GLB_NODE(inside) GLB_ASSET "'nodes':[{'mesh':0" inside "}]," GLB_REST

static tarn_mesh read_glb(const char *text)
{
    static char bytes[GLB_BYTES];
    return mesh_expect_read(TARN_MESH_FORMAT_GLB, bytes, write_glb(bytes, text));
}

static void glb_is_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        GLB_NODE(""),
        GLB_ASSET "'scene':0,'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0}]," GLB_REST,
        // Nodes that no scene shows.
        GLB_ASSET "'scene':1,'scenes':[{'nodes':[]},{'nodes':[1]}],'nodes':[{'mesh':0},{'children':[2]},{'mesh':0}],"
                  "'extensionsRequired':['KHR_materials_unlit']," GLB_REST,
        // Compressed, and as it is, too.
        GLB_ASSET "'nodes':[{'mesh':0}],'meshes':[{'primitives':[{'attributes':{'POSITION':0},'indices':1,"
                  "'extensions':{'KHR_draco_mesh_compression':{}}}]}]," GLB_ACCESSORS GLB_VIEWS "}",
        // Of any size, and turned about z by 90 degrees and back.
        GLB_NODE(",'rotation':[0,0,0,7],'scale':[1,1,5],'translation':[0,0,0]"),
        GLB_ASSET "'nodes':[{'rotation':[0,0,1,1],'children':[1]},{'mesh':0,'rotation':[0,0,-1,1]}]," GLB_REST,
        GLB_NODE(",'matrix':[1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]"),
    };
    for (size_t i = 0; i < LENGTH(texts); i++) {
        tarn_mesh mesh = read_glb(texts[i]);
        mesh_expect_square(&mesh);
    }
    // Without indices corners follow each other.
    tarn_mesh mesh = read_glb(
        GLB_ASSET "'nodes':[{'mesh':0}],'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}],"
                  "'accessors':[{'bufferView':0,'componentType':5126,'type':'VEC3','count':3}]," GLB_VIEWS "}");
    assert_int_equal(mesh.triangle_count, 1);
    assert_int_equal(mesh.vertex_count, 3);
    tarn_mesh_free(&mesh);
}

/// Scaled, then turned, then moved, in the node above likewise; a node that mirrors turns its triangles over.
static void nodes_put_meshes_in_their_places(void **state)
{
    (void)state;
    static const float wanted[] = {10, 2, 3, 10, 4, 3, 7, 4, 3, 7, 2, 3};
    tarn_mesh mesh = read_glb(GLB_ASSET "'nodes':[{'translation':[10,0,3],'rotation':[0,0,1,1],'children':[1]},"
                                        "{'mesh':0,'translation':[2,0,0],'scale':[2,3,1]}]," GLB_REST);
    assert_memory_equal(mesh.vertices_m, wanted, sizeof wanted);
    assert_int_equal(mesh.triangles[1], 1);
    tarn_mesh_free(&mesh);
    static const float moved[] = {1, 2, 3, 2, 2, 3, 2, 3, 3, 1, 3, 3};
    mesh = read_glb(GLB_NODE(",'matrix':[1,0,0,0, 0,1,0,0, 0,0,1,0, 1,2,3,1]"));
    assert_memory_equal(mesh.vertices_m, moved, sizeof moved);
    tarn_mesh_free(&mesh);
    static const uint32_t turned[] = {2, 1, 0, 3, 2, 0};
    mesh = read_glb(GLB_NODE(",'scale':[-1,1,1]"));
    assert_memory_equal(mesh.triangles, turned, sizeof turned);
    tarn_mesh_free(&mesh);
    // One mesh in two places.
    mesh = read_glb(GLB_ASSET "'nodes':[{'mesh':0},{'mesh':0,'translation':[0,0,1]}]," GLB_REST);
    assert_int_equal(mesh.vertex_count, 8);
    assert_int_equal(mesh.triangles[6], 4);
    assert_true(mesh.vertices_m[14] == 1.0f);
    tarn_mesh_free(&mesh);
}

/// The square, whose node has many of it. @param more  accessors from the third on
#define GLB_MANY(attributes, more)                                                                                     \
    GLB_ASSET "'extensionsUsed':['EXT_mesh_gpu_instancing'],'nodes':[{'mesh':0,'translation':[10,0,0],"                \
              "'extensions':{'EXT_mesh_gpu_instancing':{'attributes':{" attributes "}}}}]," GLB_MESH                   \
              "'accessors':[{'bufferView':0,'componentType':5126,'type':'VEC3','count':4},"                            \
              "{'bufferView':1,'componentType':5123,'type':'SCALAR','count':6}" more "]," GLB_VIEWS "}"

/// The square's own bytes as three places, and as three turns: none, 90 and 180 degrees about z.
static void nodes_have_many_of_a_mesh(void **state)
{
    (void)state;
#define GLB_PLACES ",{'bufferView':0,'componentType':5126,'type':'VEC3','count':3}"
#define GLB_TURNS ",{'bufferView':0,'componentType':5126,'type':'VEC4','count':3}"
    static const float wanted[] = {10, 0, 0, 11, 0, 0, 11, 1, 0, 10, 1, 0, 11, 0, 0, 11, 1, 0,
                                   10, 1, 0, 10, 0, 0, 11, 1, 0, 10, 1, 0, 10, 0, 0, 11, 0, 0};
    tarn_mesh mesh = read_glb(GLB_MANY("'TRANSLATION':2,'ROTATION':3", GLB_PLACES GLB_TURNS));
    assert_int_equal(mesh.triangle_count, 6);
    assert_int_equal(mesh.vertex_count, 12);
    assert_memory_equal(mesh.vertices_m, wanted, sizeof wanted);
    tarn_mesh_free(&mesh);
    mesh = read_glb(GLB_MANY("'SCALE':2", GLB_PLACES)); // flat, but there
    assert_int_equal(mesh.triangle_count, 6);
    tarn_mesh_free(&mesh);
    mesh =
        read_glb(GLB_ASSET "'extensionsRequired':['KHR_node_visibility','KHR_mesh_quantization'],'nodes':[{'mesh':0},"
                           "{'extensions':{'KHR_node_visibility':{'visible':false}},'mesh':0,'children':[2]},"
                           "{'mesh':0}]," GLB_REST);
    mesh_expect_square(&mesh);
    static const struct {
        const char *text, *part;
    } cases[] = {
        {GLB_MANY("'TRANSLATION':2,'ROTATION':3",
                  GLB_PLACES ",{'bufferView':0,'componentType':5126,'type':'VEC4','count':2}"),
         "EXT_mesh_gpu_instancing.attributes: found 3 and 2 items"},
        {GLB_MANY("", ""), "EXT_mesh_gpu_instancing.attributes: found none of TRANSLATION, ROTATION and SCALE"},
        {GLB_MANY("'TRANSLATION':1", ""), "accessors[1]: found SCALAR of component type 5123, allowed are VEC3"},
        {GLB_MANY("'TRANSLATION':9", ""), "attributes.TRANSLATION: found none of the 2 accessors"},
        {GLB_MANY("'ROTATION':2", GLB_PLACES), "accessors[2]: found VEC3 of component type 5126, allowed are VEC4"},
    };
    static char bytes[GLB_BYTES];
    for (size_t i = 0; i < LENGTH(cases); i++) {
        mesh_expect_refusal(TARN_MESH_FORMAT_GLB, bytes, write_glb(bytes, cases[i].text), TARN_E_MALFORMED,
                            cases[i].part);
    }
}

/// KHR_mesh_quantization: the first 1 of the square, 00 00 80 3f, and what comes behind it, as other numbers.
static void whole_numbers_are_coordinates(void **state)
{
    (void)state;
#define GLB_WHOLE(type, more)                                                                                          \
    GLB_ASSET "'extensionsRequired':['KHR_mesh_quantization'],'nodes':[{'mesh':0}]," GLB_MESH                          \
              "'accessors':[{'bufferView':0,'byteOffset':12,'componentType':" type ",'type':'VEC3','count':4" more     \
              "},"                                                                                                     \
              "{'bufferView':1,'componentType':5123,'type':'SCALAR','count':6}]," GLB_VIEWS "}"
    static const struct {
        const char *text;
        float first[6];
    } cases[] = {
        {GLB_WHOLE("5120", ""), {0, 0, -128, 63, 0, 0}},
        {GLB_WHOLE("5120", ",'normalized':true"), {0, 0, -1, (float)(63 / 127.0), 0, 0}},
        {GLB_WHOLE("5121", ""), {0, 0, 128, 63, 0, 0}},
        {GLB_WHOLE("5121", ",'normalized':true"), {0, 0, (float)(128 / 255.0), (float)(63 / 255.0), 0, 0}},
        {GLB_WHOLE("5122", ""), {-32768, 16256, 0, 0, 0, 0}},
        {GLB_WHOLE("5122", ",'normalized':true"), {-1, (float)(16256 / 32767.0), 0, 0, 0, 0}},
        {GLB_WHOLE("5123", ""), {32768, 16256, 0, 0, 0, 0}},
        {GLB_WHOLE("5123", ",'normalized':true"), {(float)(32768 / 65535.0), (float)(16256 / 65535.0), 0, 0, 0, 0}},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        static char bytes[GLB_BYTES];
        const size_t count = write_glb(bytes, cases[i].text);
        if (i >= 4) {
            memset(bytes + count - 60 + 12, 0, 1);
            bytes[count - 60 + 13] = (char)0x80; // 00 80 80 3f
        }
        tarn_mesh mesh = mesh_expect_read(TARN_MESH_FORMAT_GLB, bytes, count);
        assert_memory_equal(mesh.vertices_m, cases[i].first, sizeof cases[i].first);
        tarn_mesh_free(&mesh);
    }
}

static void strips_and_fans_are_triangles(void **state)
{
    (void)state;
#define GLB_MODE(mode, more)                                                                                           \
    GLB_ASSET "'nodes':[{'mesh':0" more "}],'meshes':[{'primitives':[{'attributes':{'POSITION':0},'mode':" mode        \
              "}]}]," GLB_ACCESSORS GLB_VIEWS "}"
    static const struct {
        const char *text;
        uint32_t triangles[6];
    } cases[] = {
        {GLB_MODE("5", ""), {0, 1, 2, 1, 3, 2}},
        {GLB_MODE("6", ""), {1, 2, 0, 2, 3, 0}},
        {GLB_MODE("5", ",'scale':[-1,1,1]"), {2, 1, 0, 2, 3, 1}},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        tarn_mesh mesh = read_glb(cases[i].text);
        assert_int_equal(mesh.triangle_count, 2);
        assert_memory_equal(mesh.triangles, cases[i].triangles, sizeof cases[i].triangles);
        tarn_mesh_free(&mesh);
    }
}

static void malformed_glb_is_refused(void **state)
{
    (void)state;
#define GLB_PRIMITIVE(inside)                                                                                          \
    GLB_ASSET "'nodes':[{'mesh':0}],'meshes':[{'primitives':[{" inside "}]}]," GLB_ACCESSORS GLB_VIEWS "}"
#define GLB_POINTS(accessor)                                                                                           \
    GLB_ASSET "'nodes':[{'mesh':0}],'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}],'accessors':[{" accessor \
              "}]," GLB_VIEWS "}"
    static const struct {
        const char *text, *part;
        tarn_status status; // 0: TARN_E_MALFORMED
    } cases[] = {
        {"{", "the JSON in it, byte ", TARN_OK},
        {"{}", "found no triangles", TARN_OK},
        {"[]", "found no triangles", TARN_OK},
        {GLB_ASSET "'extensionsRequired':['KHR_draco_mesh_compression']," GLB_REST,
         "extensionsRequired[0]: found KHR_draco_mesh_compression", TARN_OK},
        {GLB_ASSET "'scene':3,'scenes':[{}]," GLB_REST, "the file.scene: found none of the 1 scenes", TARN_OK},
        {GLB_ASSET "'scenes':[{'nodes':[0]}]," GLB_REST, "the scene: found nodes' numbers, and there are no nodes",
         TARN_OK},
        {GLB_ASSET "'scenes':[{'nodes':[1]}],'nodes':[{}]," GLB_REST,
         "the scene.nodes: found 1, allowed is a whole number from 0 to 0", TARN_OK},
        {GLB_ASSET "'scenes':[{'nodes':[0]}],'nodes':[{'children':[0]}]," GLB_REST,
         "nodes[0]: found it in the tree twice", TARN_OK},
        {GLB_ASSET "'nodes':[{'mesh':1}]," GLB_REST, "nodes[0].mesh: found none of the 1 meshes", TARN_OK},
        {GLB_NODE(",'skin':0"), "nodes[0].skin: found a mesh that bones bend, allowed are rigid ones", TARN_OK},
        {GLB_NODE(",'translation':[0,0]"), "nodes[0].translation: found something else, allowed are 3 numbers",
         TARN_OK},
        {GLB_NODE(",'scale':[1,1,'1']"), "nodes[0].scale", TARN_OK},
        {GLB_NODE(",'rotation':[0,0,0,0]"), "nodes[0].rotation: found a quaternion of length 0", TARN_OK},
        {GLB_NODE(",'matrix':[1,0,0,0, 0,1,0,0, 0,0,1,0]"), "nodes[0].matrix", TARN_OK},
        {GLB_NODE(",'scale':[1e9,1,1]"), "vertex 1: found 1e+09 for x, allowed is a number from -100000", TARN_OK},
        {GLB_NODE(",'scale':[1e308,1,1],'translation':[1e308,0,0]"), "for x, allowed is", TARN_OK},
        {GLB_PRIMITIVE("'attributes':{'POSITION':0},'mode':3"),
         "meshes[0].primitives[0].mode: found 3, allowed are 4 to 6, triangles", TARN_OK},
        // Compressed, and the file doesn't say that it has to be known; it needn't be where all is there as it is.
        {GLB_ASSET "'extensionsUsed':['KHR_draco_mesh_compression'],'nodes':[{'mesh':0}],'meshes':[{'primitives':[{"
                   "'attributes':{'POSITION':0},'extensions':{'KHR_draco_mesh_compression':{'bufferView':0}}}]}],"
                   "'accessors':[{'componentType':5126,'type':'VEC3','count':3}]," GLB_VIEWS "}",
         "meshes[0].primitives[0]: found KHR_draco_mesh_compression", TARN_OK},
        {GLB_ASSET "'nodes':[{'mesh':0}]," GLB_MESH GLB_ACCESSORS
                   "'buffers':[{'byteLength':60},{'byteLength':60}],'bufferViews':[{'buffer':1,'byteLength':48,"
                   "'extensions':{'EXT_meshopt_compression':{'buffer':0}}}]}",
         "bufferViews[0]: found EXT_meshopt_compression", TARN_OK},
        {GLB_ASSET "'extensionsRequired':['EXT_something_else']," GLB_REST,
         "extensionsRequired[0]: found EXT_something_else, allowed are KHR_mesh_quantization", TARN_OK},
        {GLB_PRIMITIVE("'attributes':{'POSITION':0},'targets':[]"), ".targets: found morph targets", TARN_OK},
        {GLB_PRIMITIVE("'attributes':{}"), "meshes[0].primitives[0].attributes: found no POSITION", TARN_OK},
        {GLB_PRIMITIVE("'attributes':{'POSITION':1}"),
         "accessors[1]: found SCALAR of component type 5123, allowed are VEC3 of 5126", TARN_OK},
        {GLB_PRIMITIVE("'attributes':{'POSITION':0},'indices':0"), "allowed are SCALAR of 5121, 5123 and 5125",
         TARN_OK},
        {GLB_PRIMITIVE("'attributes':{'POSITION':0}"), "found 4 corners, allowed are three for each triangle", TARN_OK},
        {GLB_POINTS("'componentType':5126,'type':'VEC3','count':3"), "accessors[0]: found no bufferView", TARN_OK},
        {GLB_POINTS("'bufferView':0,'componentType':5126,'type':'VEC3','count':3,'sparse':{}"),
         "accessors[0]: found a sparse one", TARN_OK},
        {GLB_POINTS("'bufferView':7,'componentType':5126,'type':'VEC3','count':3"),
         "accessors[0].bufferView: found none of the 2 bufferViews", TARN_OK},
        {GLB_POINTS("'bufferView':0,'componentType':5126,'type':'VEC3','count':0"), "accessors[0].count: found 0",
         TARN_OK},
        {GLB_POINTS("'bufferView':0,'componentType':5126,'type':'VEC3'"), "accessors[0].count: found nothing", TARN_OK},
        {GLB_POINTS("'bufferView':0,'componentType':5126,'type':'VEC3','count':2147483647"),
         "accessors[0]: found 25769803764 bytes of a view that has 48", TARN_OK},
        {GLB_POINTS("'bufferView':0,'componentType':5126,'type':'VEC3','count':4,'byteOffset':1"),
         "found 49 bytes of a view that has 48", TARN_OK},
        {GLB_POINTS("'bufferView':0,'componentType':5126,'type':'VEC3','count':3,'byteOffset':-4"),
         "accessors[0].byteOffset: found -4", TARN_OK},
        {GLB_ASSET "'nodes':[{'mesh':0}]," GLB_MESH GLB_ACCESSORS
                   "'buffers':[{'byteLength':60,'uri':'a.bin'}],'bufferViews':[{'buffer':0,'byteLength':48}]}",
         "bufferViews[0].buffer: found another file's bytes", TARN_OK},
        {GLB_ASSET "'nodes':[{'mesh':0}]," GLB_MESH GLB_ACCESSORS
                   "'buffers':[{'byteLength':99}],'bufferViews':[{'buffer':0,'byteLength':61}]}",
         "bufferViews[0].byteLength: found 61, allowed is a whole number from 0 to 60", TARN_OK},
        {GLB_ASSET "'nodes':[{'mesh':0}]," GLB_MESH GLB_ACCESSORS
                   "'buffers':[{}],'bufferViews':[{'buffer':0,'byteLength':60,'byteStride':8}]}",
         "bufferViews[0].byteStride: found 8, allowed are 12 to 252", TARN_OK},
        // The triangles' bytes as three corners, the second of which is vertex 0x20003.
        {GLB_ASSET "'nodes':[{'mesh':0}]," GLB_MESH
                   "'accessors':[{'bufferView':0,'componentType':5126,'type':'VEC3','count':4},"
                   "{'bufferView':1,'componentType':5125,'type':'SCALAR','count':3}]," GLB_VIEWS "}",
         "meshes[0].primitives[0].indices: found the vertex 65536, allowed are 0 to 3", TARN_OK},
    };
    static char bytes[GLB_BYTES];
    for (size_t i = 0; i < LENGTH(cases); i++) {
        mesh_expect_refusal(TARN_MESH_FORMAT_GLB, bytes, write_glb(bytes, cases[i].text),
                            cases[i].status != TARN_OK ? cases[i].status : TARN_E_MALFORMED, cases[i].part);
    }
}

static void glb_must_be_as_long_as_it_says(void **state)
{
    (void)state;
    static char bytes[GLB_BYTES], deep[GLB_BYTES];
    static const char *const texts[] = {GLB_MANY("'TRANSLATION':2,'ROTATION':3", GLB_PLACES GLB_TURNS), GLB_NODE("")};
    size_t all = 0;
    for (size_t i = 0; i < LENGTH(texts); i++) {
        all = write_glb(bytes, texts[i]);
        for (size_t cut = 0; cut < all; cut++) {
            mesh_expect_refusal(TARN_MESH_FORMAT_GLB, bytes, cut, TARN_E_MALFORMED,
                                cut > 0 ? "found " : "found an empty");
            if (cut >= 12) { // whatever the head says of it
                put_u32(bytes + 8, cut);
                mesh_expect_refusal(TARN_MESH_FORMAT_GLB, bytes, cut, TARN_E_MALFORMED, "found ");
                put_u32(bytes + 8, all);
            }
        }
    }
    bytes[4] = 1;
    mesh_expect_refusal(TARN_MESH_FORMAT_GLB, bytes, all, TARN_E_MALFORMED, "found version 1 and ");
    bytes[4] = 2;
    bytes[16] = 'X';
    mesh_expect_refusal(TARN_MESH_FORMAT_GLB, bytes, all, TARN_E_MALFORMED, "found a first chunk of kind 4e4f5358");
    // A chain of nodes.
    char *at = stpcpy(deep, GLB_ASSET "'nodes':[{}");
    for (int i = 1; i < 70; i++) {
        at += sprintf(at, ",{'children':[%d]}", i - 1);
    }
    stpcpy(at, "]," GLB_REST);
    mesh_expect_refusal(TARN_MESH_FORMAT_GLB, bytes, write_glb(bytes, deep), TARN_E_LIMIT, "64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_forms_of_ply_are_read),
        cmocka_unit_test(malformed_ply_is_refused),
        cmocka_unit_test(glb_is_read),
        cmocka_unit_test(nodes_put_meshes_in_their_places),
        cmocka_unit_test(nodes_have_many_of_a_mesh),
        cmocka_unit_test(whole_numbers_are_coordinates),
        cmocka_unit_test(strips_and_fans_are_triangles),
        cmocka_unit_test(malformed_glb_is_refused),
        cmocka_unit_test(glb_must_be_as_long_as_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
