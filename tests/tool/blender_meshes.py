# For Blender: blender -b -P blender_meshes.py -- import FILE... | export FOLDER
#
#   import    reads meshes and says of each what it has: vertices, faces, edges without two faces, volume, processor seconds
#   export    writes one object in another, scaled, turned and mirrored, in the formats that scenes may name; says its
#             volume
import json
import sys
import time

import bmesh
import bpy

act, *names = sys.argv[sys.argv.index("--") + 1 :]


def has(group, name):
    return name in dir(group)


def measure():
    """Of all objects' meshes, in the scene's coordinates."""
    whole = bmesh.new()
    for thing in bpy.context.scene.objects:
        if thing.type == "MESH":
            part = bmesh.new()
            part.from_mesh(thing.data)
            part.transform(thing.matrix_world)
            if thing.matrix_world.determinant() < 0:
                bmesh.ops.reverse_faces(part, faces=part.faces)
            copy = bpy.data.meshes.new("copy")
            part.to_mesh(copy)
            part.free()
            whole.from_mesh(copy)
    said = {
        "vertices": len(whole.verts),
        "faces": len(whole.faces),
        "gaps": sum(1 for edge in whole.edges if len(edge.link_faces) != 2),
        "volume": whole.calc_volume(signed=True),
        "lowest": [min(v.co[a] for v in whole.verts) for a in range(3)],
        "highest": [max(v.co[a] for v in whole.verts) for a in range(3)],
    }
    whole.free()
    return said


def read(name):
    """Without a change of axes. False: this Blender has no reader for it."""
    kind = name.rsplit(".", 1)[1]
    if kind == "obj":
        bpy.ops.wm.obj_import(filepath=name, forward_axis="Y", up_axis="Z")
    elif kind == "ply" and has(bpy.ops.wm, "ply_import"):
        bpy.ops.wm.ply_import(filepath=name, forward_axis="Y", up_axis="Z")
    elif kind == "ply" and has(bpy.ops.import_mesh, "ply"):
        bpy.ops.import_mesh.ply(filepath=name)
    elif kind.startswith("usd") and has(bpy.ops.wm, "usd_import"):
        bpy.ops.wm.usd_import(filepath=name)
    else:
        return False
    return True


def import_all():
    said = {}
    for name in names:
        bpy.ops.wm.read_homefile(use_empty=True)
        start = time.process_time()
        if read(name):
            took = time.process_time() - start
            if ".usd" in name:  # solids and the tank's box besides
                for thing in list(bpy.context.scene.objects):
                    if thing.type == "MESH" and "Liquid" not in thing.name:
                        bpy.data.objects.remove(thing)
            said[name] = {**measure(), "seconds": took}
        else:
            said[name] = None
    return said


def export():
    folder = names[0]
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.mesh.primitive_uv_sphere_add(radius=0.3)
    outer = bpy.context.object
    bpy.ops.mesh.primitive_cube_add(size=0.2, location=(0.6, 0, 0))
    bpy.context.object.parent = outer
    outer.scale = (1, 2, -1)
    outer.rotation_euler = (0.3, 0.2, 0.1)
    bpy.context.view_layer.update()
    said = {"whole": measure(), "files": []}
    writers = {
        "glb": lambda name: bpy.ops.export_scene.gltf(filepath=name, export_format="GLB"),
        "obj": lambda name: bpy.ops.wm.obj_export(filepath=name),
        "ply": lambda name: bpy.ops.export_mesh.ply(filepath=name),
        "text.ply": lambda name: bpy.ops.export_mesh.ply(filepath=name, use_ascii=True),
        "stl": lambda name: bpy.ops.export_mesh.stl(filepath=name),
    }
    for kind, write in writers.items():
        try:
            write(f"{folder}/made.{kind}")
            said["files"].append(f"made.{kind}")
        except (AttributeError, RuntimeError) as error:  # another version's, or without its parts
            print(f"not written: {kind}, {error}")
    return said


print("RESULT " + json.dumps(import_all() if act == "import" else export()))
