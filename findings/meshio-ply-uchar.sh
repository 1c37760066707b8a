#!/usr/bin/env bash
# meshio: a PLY file's `uchar` is read as a signed byte, so that 224 comes back as -32; the same file with the type's other name,
# `uint8`, is read right. One would have guessed that the two names are one type, as they are to other readers.
. "$(dirname "$0")/browser.sh"
[ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import meshio' 2>/dev/null || {
    echo "this needs meshio for /usr/bin/python3, of Debian's python3-meshio"
    exit 2
}
dpkg-query -W -f '${Package} ${Version}\n' python3-meshio
cat >"$folder/read.py" <<'END'
import meshio, struct, sys
said = []
for name in "uchar", "uint8":
    path = f"{sys.argv[1]}/{name}.ply"
    with open(path, "wb") as f:
        f.write(("ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
                 f"property float z\nproperty {name} red\nend_header\n").encode())
        f.write(struct.pack("<fffB", 0, 0, 0, 224))
    said.append(f"{name} {int(meshio.read(path).point_data['red'][0])}")
print(", ".join(said))
END
seen=$(/usr/bin/python3 "$folder/read.py" "$folder" 2>/dev/null)
verdict "$seen" "uchar -32, uint8 224" "uchar 224, uint8 224"
