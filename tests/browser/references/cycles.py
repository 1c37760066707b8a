# Renders a moment of a tank with Blender's Cycles, as a reference for the page's picture: the surface that `tarn run`
# writes, as water that bends, absorbs and scatters light, in the room that the page mirrors. Light is linear.
#
#     blender -b --factory-startup --python-exit-code 1 --python cycles.py -- JOB.json
#
# The job (references.mjs makes it) names the surface (.usda), the room (float32 RGB, rows from straight up to straight
# down, columns from -x through -z, +x and +z to -x), the picture's matrix (tank metres to pixels) and what the page says of
# its light and its water; the picture is written as float32 RGB, rows from the top.
import json
import sys

import bpy
import mathutils
import numpy as np

# Of a horizontal place in the open, what of its light comes from the sky alone; the rest is the sun's.
SKY_SHARE = 0.22
INDEX = 1.33
# Light passes a surface twice and more: so much of a colour is each time's.
SURFACE_TINT = 0.2


def read_usda(path):
    """The last moment of what the tool writes: names, each with its attributes."""
    prims, prim, held = [], None, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.strip()
            if words.startswith("def "):
                _, kind, name = words.split()[:3]
                prim = {"kind": kind, "name": name.strip('"')}
                prims.append(prim)
            elif prim is None:
                continue
            elif words.endswith(".timeSamples = {"):
                held = words.split(".timeSamples")[0].split()[-1]
                prim["moves"] = prim.get("moves", False) or held.startswith("xformOp")
            elif held is not None and words == "}":
                held = None
            elif held is not None:
                prim[held] = words.split(":", 1)[1].strip().rstrip(",")
            elif " = " in words:
                name, value = words.split(" = ", 1)
                prim[name.split()[-1]] = value.removesuffix(" (")
    return prims


def numbers(text):
    return np.array(text.translate(str.maketrans("()[],", "     ")).split(), dtype=np.float64)


def matrix_of(prim):
    at = numbers(prim.get("xformOp:translate", "(0, 0, 0)"))
    turn = numbers(prim.get("xformOp:orient", "(1, 0, 0, 0)"))
    scale = numbers(prim.get("xformOp:scale", "(1, 1, 1)"))
    return mathutils.Matrix.LocRotScale(mathutils.Vector(at), mathutils.Quaternion(turn), mathutils.Vector(scale))


def mesh_of(prim):
    mesh = bpy.data.meshes.new(prim["name"])
    points = numbers(prim["points"]).reshape(-1, 3)
    counts = numbers(prim["faceVertexCounts"]).astype(int)
    indices = numbers(prim["faceVertexIndices"]).astype(int)
    mesh.from_pydata(points.tolist(), [], [part.tolist() for part in np.split(indices, np.cumsum(counts)[:-1])])
    return mesh


def shape_of(prim):
    if prim["kind"] == "Mesh":
        return mesh_of(prim)
    size = float(prim.get("radius", prim.get("size", "1")))
    if prim["kind"] == "Sphere":
        bpy.ops.mesh.primitive_uv_sphere_add(radius=size, segments=48, ring_count=24)
    elif prim["kind"] == "Cube":
        bpy.ops.mesh.primitive_cube_add(size=size)
    else:
        raise SystemExit(f"{prim['name']}: a {prim['kind']} isn't drawn")
    made = bpy.context.object
    mesh = made.data
    bpy.data.objects.remove(made)
    return mesh


def put(name, mesh, material, matrix=None, smooth=True):
    mesh.materials.clear()
    mesh.materials.append(material)
    mesh.polygons.foreach_set("use_smooth", [smooth] * len(mesh.polygons))
    made = bpy.data.objects.new(name, mesh)
    if matrix is not None:
        made.matrix_world = matrix
    bpy.context.scene.collection.objects.link(made)
    return made


class Nodes:
    """A material's or the world's nodes, made by name and joined by sockets."""

    def __init__(self, owner):
        owner.use_nodes = True
        self.tree = owner.node_tree
        self.tree.nodes.clear()

    def add(self, kind, **inputs):
        node = self.tree.nodes.new(kind)
        for name, value in inputs.items():
            socket = node.inputs[name.replace("_", " ")]
            if isinstance(value, bpy.types.NodeSocket):
                self.tree.links.new(value, socket)
            else:
                socket.default_value = value
        return node

    def join(self, output, socket):
        self.tree.links.new(output, socket)


def rgba(colour):
    return (*[float(part) for part in colour], 1.0)


def matt(name, colour, opacity=1.0):
    material = bpy.data.materials.new(name)
    nodes = Nodes(material)
    shader = nodes.add("ShaderNodeBsdfDiffuse", Color=rgba(colour)).outputs[0]
    if opacity < 1:
        mixed = nodes.add("ShaderNodeMixShader", Fac=opacity)
        nodes.join(nodes.add("ShaderNodeBsdfTransparent").outputs[0], mixed.inputs[1])
        nodes.join(shader, mixed.inputs[2])
        shader = mixed.outputs[0]
    nodes.join(shader, nodes.add("ShaderNodeOutputMaterial").inputs["Surface"])
    return material


def water(job, tinted):
    """@param tinted  the surface has colours of its own: it lets a part of each through, in place of what is absorbed"""
    material = bpy.data.materials.new("water")
    nodes = Nodes(material)
    colour = (1, 1, 1, 1)
    if tinted:
        paler = nodes.add("ShaderNodeGamma", Color=nodes.add("ShaderNodeVertexColor").outputs["Color"], Gamma=SURFACE_TINT)
        colour = paler.outputs[0]
    glass = nodes.add("ShaderNodeBsdfGlass", Roughness=0.0, IOR=INDEX, Color=colour)
    # Light that a lamp throws goes straight through, as tinted as it gets: a caustic's light, but not its pattern.
    path = nodes.add("ShaderNodeLightPath")
    mixed = nodes.add("ShaderNodeMixShader", Fac=path.outputs["Is Shadow Ray"])
    nodes.join(glass.outputs[0], mixed.inputs[1])
    nodes.join(nodes.add("ShaderNodeBsdfTransparent", Color=(0.96, 0.96, 0.96, 1)).outputs[0], mixed.inputs[2])
    output = nodes.add("ShaderNodeOutputMaterial")
    nodes.join(mixed.outputs[0], output.inputs["Surface"])
    clear_m = job["clear_m"]
    taken = -np.log(np.clip(job["water"], 0.012, 0.985)) * job["absorbed"]
    # An absorbing volume takes density x (1 - colour) a metre.
    density = float(taken.max() / clear_m) if not tinted else 0.0
    absorbs = nodes.add("ShaderNodeVolumeAbsorption", Color=rgba(1 - taken / taken.max()), Density=density)
    scatters = nodes.add("ShaderNodeVolumeScatter", Color=(1, 1, 1, 1), Density=job["scattered"] / clear_m, Anisotropy=0.6)
    both = nodes.add("ShaderNodeAddShader")
    nodes.join(absorbs.outputs[0], both.inputs[0])
    nodes.join(scatters.outputs[0], both.inputs[1])
    nodes.join(both.outputs[0], output.inputs["Volume"])
    return material


def tiled(name, tile, line, pitch, width):
    """Diffuse tiles with lines where x or z is a multiple of the pitch."""
    material = bpy.data.materials.new(name)
    nodes = Nodes(material)
    place = nodes.add("ShaderNodeSeparateXYZ", Vector=nodes.add("ShaderNodeNewGeometry").outputs["Position"])

    def calculate(operation, a, b):
        node = nodes.add("ShaderNodeMath")
        node.operation = operation
        for socket, value in zip(node.inputs, (a, b)):
            if isinstance(value, bpy.types.NodeSocket):
                nodes.join(value, socket)
            else:
                socket.default_value = value
        return node.outputs[0]

    def on_line(axis):
        return calculate("LESS_THAN", calculate("PINGPONG", place.outputs[axis], pitch / 2), width / 2)

    lines = calculate("MAXIMUM", on_line("X"), on_line("Z"))
    colour = nodes.add("ShaderNodeMixRGB", Fac=lines, Color1=rgba(tile), Color2=rgba(line))
    shader = nodes.add("ShaderNodeBsdfDiffuse", Color=colour.outputs[0])
    nodes.join(shader.outputs[0], nodes.add("ShaderNodeOutputMaterial").inputs["Surface"])
    return material


def plane(name, low, high, y, material):
    mesh = bpy.data.meshes.new(name)
    (x0, z0), (x1, z1) = low, high
    mesh.from_pydata([(x0, y, z0), (x0, y, z1), (x1, y, z1), (x1, y, z0)], [], [(0, 1, 2, 3)])
    put(name, mesh, material, smooth=False)


def table_top(size, y, material):
    """As far as the page's reaches: a rounded rectangle about the tank."""
    half = np.array([size[0] / 2, size[2] / 2])
    reach = 1.9 * np.linalg.norm(half)
    mesh = bpy.data.meshes.new("table")
    turns = np.arange(64) / 64 * 2 * np.pi
    around = [half + np.sign(d) * half + reach * d for d in np.c_[np.cos(turns), -np.sin(turns)]]
    mesh.from_pydata([(x, y, z) for x, z in around], [], [list(range(64))])
    put("table", mesh, material, smooth=False)


def camera_of(matrix, width, height):
    """Takes a projection apart (Hartley and Zisserman, Multiple View Geometry, 6.2.4)."""
    _, _, basis = np.linalg.svd(matrix)
    eye = basis[-1, :3] / basis[-1, 3]
    flipped = np.flipud(np.eye(3))
    q, r = np.linalg.qr((flipped @ matrix[:, :3]).T)
    inner, turn = flipped @ r.T @ flipped, flipped @ q.T
    signs = np.diag(np.sign(np.diag(inner)))
    inner, turn = inner @ signs, signs @ turn
    if np.linalg.det(turn) < 0:
        turn = -turn
    inner = inner / inner[2, 2]
    # Pixels have y downwards and z away from the eye; Blender's cameras look along -z.
    axes = (np.diag([1, -1, -1]) @ turn).T
    data = bpy.data.cameras.new("camera")
    data.sensor_fit = "HORIZONTAL"
    data.sensor_width = 36.0
    data.lens = inner[0, 0] / width * 36.0
    data.shift_x = (width / 2 - inner[0, 2]) / width
    data.shift_y = (inner[1, 2] - height / 2) / width
    data.clip_start, data.clip_end = 0.01, 1000
    made = bpy.data.objects.new("camera", data)
    placed = np.eye(4)
    placed[:3, :3], placed[:3, 3] = axes, eye
    made.matrix_world = mathutils.Matrix(placed.tolist())
    bpy.context.scene.collection.objects.link(made)
    bpy.context.scene.camera = made


def light_up(job):
    """The room as the sky, and the sun. @return the light of a white place in the open, of which nothing is taken"""
    height, width = job["room"]["height"], job["room"]["width"]
    room = np.fromfile(job["room"]["file"], np.float32).reshape(height, width, 3)
    up = np.sin(np.pi / 2 - (np.arange(height) + 0.5) / height * np.pi)
    around = np.cos(np.arcsin(up)) * (up > 0)
    sky = (room.mean(axis=1) * (up * around)[:, None]).sum(axis=0) / (up * around).sum()
    image = bpy.data.images.new("room", width, height, float_buffer=True, is_data=True)
    pixels = np.ones((height, width, 4), np.float32)
    pixels[:, :, :3] = room[::-1]
    image.pixels.foreach_set(pixels.ravel())
    image.pack()
    world = bpy.data.worlds.new("room")
    bpy.context.scene.world = world
    nodes = Nodes(world)
    # Blender's pictures of a sky have z upwards.
    coordinates = nodes.add("ShaderNodeTexCoord")
    turned = nodes.add("ShaderNodeMapping", Vector=coordinates.outputs["Generated"], Rotation=(np.pi / 2, 0, 0))
    texture = nodes.add("ShaderNodeTexEnvironment", Vector=turned.outputs[0])
    texture.image = image
    background = nodes.add("ShaderNodeBackground", Color=texture.outputs[0])
    nodes.join(background.outputs[0], nodes.add("ShaderNodeOutputWorld").inputs["Surface"])
    sun = mathutils.Vector(job["sun"]).normalized()
    strength = float(sky.mean()) * (1 - SKY_SHARE) / SKY_SHARE
    lamp = bpy.data.lights.new("sun", "SUN")
    lamp.energy = strength * np.pi / sun.y
    lamp.color = job["sun_colour"]
    lamp.angle = 0.03
    made = bpy.data.objects.new("sun", lamp)
    made.matrix_world = sun.to_track_quat("Z", "Y").to_matrix().to_4x4()
    bpy.context.scene.collection.objects.link(made)
    return float(sky.mean()) + strength


def build(job):
    for made in list(bpy.data.objects):
        bpy.data.objects.remove(made)
    white = light_up(job)
    size = job["size_m"]
    table, tile, line = (np.array(job[name]) / white for name in ("table", "tile", "line"))
    pitch = max(size[0], size[2]) / 16
    plane("floor", (0, 0), (size[0], size[2]), -1e-4, tiled("floor", tile, tile + 0.55 * (line - tile), pitch, 0.06 * pitch))
    table_top(size, -0.012 * size[1], matt("table", table))
    bar = matt("bar", np.array(job["bar"]) / white)
    thick = 0.0042 * float(np.cbrt(np.prod(size)))
    for axis in range(3):
        for corner in range(4):
            dims, at = [thick] * 3, [0.0] * 3
            dims[axis], at[axis] = size[axis] + thick, size[axis] / 2
            for bit, other in enumerate(((axis + 1) % 3, (axis + 2) % 3)):
                at[other] = size[other] if corner >> bit & 1 else 0.0
            bpy.ops.mesh.primitive_cube_add(size=1)
            mesh = bpy.context.object.data
            bpy.data.objects.remove(bpy.context.object)
            placed = mathutils.Matrix.LocRotScale(mathutils.Vector(at), None, mathutils.Vector(dims))
            put("bar", mesh, bar, placed, smooth=False)
    for prim in read_usda(job["surface"]):
        if prim["name"] == "Liquid":
            mesh = mesh_of(prim)
            colours = numbers(prim["primvars:displayColor"]).reshape(-1, 3)
            tinted = len(colours) == len(mesh.vertices)
            if tinted:
                layer = mesh.color_attributes.new("tint", "FLOAT_COLOR", "POINT")
                layer.data.foreach_set("color", np.c_[colours, np.ones(len(colours))].ravel())
            put("water", mesh, water(job, tinted))
        elif prim["name"].startswith("Solid_"):
            colour = numbers(prim["primvars:displayColor"])[:3]
            opacity = 1.0 if prim.get("moves", False) or prim["kind"] == "Mesh" else job["still_opacity"]
            put(prim["name"], shape_of(prim), matt(prim["name"], colour, opacity), matrix_of(prim), prim["kind"] != "Cube")


def render(job):
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples = job["samples"]
    scene.cycles.use_adaptive_sampling = False
    scene.cycles.use_denoising = False
    scene.cycles.max_bounces = 12
    scene.cycles.transmission_bounces = 12
    scene.cycles.volume_bounces = 1
    scene.cycles.sample_clamp_indirect = 4
    scene.cycles.seed = 1
    scene.render.resolution_x, scene.render.resolution_y = job["width"], job["height"]
    scene.render.resolution_percentage = 100
    scene.render.image_settings.file_format = "OPEN_EXR"
    scene.render.image_settings.color_depth = "32"
    scene.render.filepath = job["picture"] + ".exr"
    camera_of(np.array(job["matrix"]).reshape(3, 4), job["width"], job["height"])
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(scene.render.filepath)
    pixels = np.empty(job["width"] * job["height"] * 4, np.float32)
    image.pixels.foreach_get(pixels)
    pixels.reshape(job["height"], job["width"], 4)[::-1, :, :3].tofile(job["picture"])


with open(sys.argv[sys.argv.index("--") + 1], encoding="utf-8") as given:
    JOB = json.load(given)
build(JOB)
render(JOB)
