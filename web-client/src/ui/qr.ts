// A text as a QR code, drawn as one SVG path: sharp at any size.
import { encode } from "uqr";

const SVG = "http://www.w3.org/2000/svg";

/** @throws where the text is longer than a code holds, about 2 kB */
export function qrCode(text: string): SVGSVGElement {
  const { data, size } = encode(text, { border: 1, ecc: "M" });
  let path = "";
  for (let row = 0; row < size; row++)
    for (let column = 0; column < size; column++)
      if (data[row]?.[column]) path += `M${column} ${row}h1v1h-1z`;
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", `0 0 ${size} ${size}`);
  picture.setAttribute("class", "qr");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", "The link as a QR code");
  const drawn = document.createElementNS(SVG, "path");
  drawn.setAttribute("d", path);
  drawn.setAttribute("shape-rendering", "crispEdges");
  picture.append(drawn);
  return picture;
}
