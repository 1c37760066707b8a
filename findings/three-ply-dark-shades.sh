#!/usr/bin/env bash
# three's PLYLoader: colours of a byte are turned into linear light and kept as bytes again, so that dark shades fall together:
# of 256 greys 183 are left, and one that is turned back is off by up to 6. The same greys as 16 bits or floats stay apart.
# One would have guessed that a byte of the file is a byte of the attribute, or a float.
. "$(dirname "$0")/browser.sh"
need node nodejs
need npm npm
(cd "$folder" && npm install --silent --no-audit --no-fund --prefix . three@0.187.0 >/dev/null)
echo "three 0.187.0"
seen=$(run_node <<'END'
import { Color } from "three";
import { PLYLoader } from "three/examples/jsm/loaders/PLYLoader.js";
const said = [];
for (const [type, full] of [["uchar", 255], ["ushort", 65535], ["float", 1]]) {
    const head = ["red", "green", "blue"].map((name) => `property ${type} ${name}`);
    const greys = Array.from({ length: 256 }, (_, i) => `0 0 0 ${`${(i * full) / 255} `.repeat(3)}`);
    const text = ["ply", "format ascii 1.0", "element vertex 256", "property float x", "property float y", "property float z",
        ...head, "end_header", ...greys, ""].join("\n");
    const colours = new PLYLoader().parse(text).getAttribute("color");
    const back = Array.from({ length: 256 }, (_, i) => Math.round(255 * new Color(colours.getX(i), 0, 0).convertLinearToSRGB().r));
    const worst = Math.max(...back.map((shade, i) => Math.abs(shade - i)));
    said.push(`${type} ${new Set(back).size} shades, off by ${worst}`);
}
console.log(said.join("; "));
END
)
verdict "$seen" "uchar 183 shades, off by 6; ushort 256 shades, off by 0; float 256 shades, off by 0" \
    "uchar 256 shades, off by 0; ushort 256 shades, off by 0; float 256 shades, off by 0"
