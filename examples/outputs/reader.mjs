import { readFileSync } from "node:fs";

const [file, name, version, hex] = process.argv.slice(2);
const { format, messages } = JSON.parse(readFileSync(file, "utf8"));
if (format !== 1) throw new Error(`unknown format ${format}`);
const { versions, layouts } = messages.find((one) => one.name === name);
const { layout } = versions.find((one) => one.number === Number(version));
const bytes = Buffer.from(hex, "hex");
let at = 0;
const take = (count) => bytes.subarray(at, (at += count));
const number = (size, signed = true) => take(size)[signed ? "readIntBE" : "readUIntBE"](0, size);
const uvarint = (low = take(1)[0]) => (low < 128 ? low : low - 128 + 128 * uvarint());
const lengths = { int16: () => number(2), int32: () => number(4), uvarint: () => uvarint() - 1 };
const others = { bool: () => number(1) !== 0, uuid: () => take(16).toString("hex"),
  int64: () => String(take(8).readBigInt64BE()), float64: () => take(8).readDoubleBE() };

function value({ kind, width, nullable, length, element, ...rest }, tagged) {
  if (kind === "struct") return nullable && (tagged ? uvarint() : number(1) + 1) === 0 ? null : struct(rest);
  if (kind in others) return others[kind]();
  if (width) return number(width, kind.startsWith("int"));
  const count = lengths[length]();
  if (kind === "array") return count < 0 ? null : Array.from({ length: count }, () => value(element));
  return count < 0 ? null : take(count).toString(kind === "string" ? "utf8" : "hex");
}

function struct({ fields, flexible }) {
  const found = Object.fromEntries(fields.map((one) => [one.name, one.tag === null ? value(one.kind) : one.default]));
  for (let left = flexible ? uvarint() : 0; left > 0; left--) {
    const one = ((tag) => fields.find((field) => field.tag === tag))(uvarint());
    const end = uvarint() + at; // the size comes before the value
    if (one) found[one.name] = value(one.kind, true);
    at = end;
  }
  return found;
}

console.log(JSON.stringify(struct(layouts[layout].body)));
