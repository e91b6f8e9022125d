import { readFileSync } from "node:fs";

const [file, name, version, hex] = process.argv.slice(2);
const protocol = JSON.parse(readFileSync(file, "utf8"));
if (protocol.format !== 1) throw new Error(`unknown format ${protocol.format}`);
const message = protocol.messages.find((one) => one.name === name);
const { layout } = message.versions.find((one) => one.number === Number(version));
const { body } = message.layouts[layout];
const bytes = Buffer.from(hex, "hex");
let at = 0;
const take = (count) => bytes.subarray(at, (at += count));
const number = (size) => (signed) => take(size)[signed ? "readIntBE" : "readUIntBE"](0, size);
const uvarint = (low = take(1)[0]) => (low < 128 ? low : low - 128 + 128 * uvarint());
const lengths = { int16: () => number(2)(true), int32: () => number(4)(true), uvarint: () => uvarint() - 1 };

function value({ kind, width, nullable, length, element, ...rest }, tagged) {
  if (kind === "struct") return nullable && (tagged ? uvarint() : number(1)(true) + 1) === 0 ? null : struct(rest);
  if (kind === "bool") return take(1)[0] !== 0;
  if (kind === "int64") return String(take(8).readBigInt64BE());
  if (kind === "float64") return take(8).readDoubleBE();
  if (kind === "uuid") return take(16).toString("hex");
  if (width) return number(width)(kind.startsWith("int"));
  const count = lengths[length]();
  if (count < 0) return null;
  if (kind === "array") return Array.from({ length: count }, () => value(element));
  return take(count).toString(kind === "string" ? "utf8" : "hex");
}

function struct({ fields, flexible }) {
  const found = {};
  for (const one of fields) found[one.name] = one.tag === null ? value(one.kind) : one.default;
  for (let left = flexible ? uvarint() : 0; left > 0; left--) {
    const tag = uvarint();
    const end = uvarint() + at; // the size comes before the value
    const one = fields.find((field) => field.tag === tag);
    if (one) found[one.name] = value(one.kind, true);
    at = end;
  }
  return found;
}

console.log(JSON.stringify(struct(body)));
