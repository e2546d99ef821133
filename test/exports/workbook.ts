import { crc32, inflateRawSync } from 'node:zlib';

/** Reads a zip archive by its directory, and checks every entry, independently of the writer. */
export function unzipped(bytes: Buffer): ReadonlyMap<string, string> {
  const end = bytes.length - 22;
  if (bytes.readUInt32LE(end) !== 0x06054b50) throw new Error('no end of the directory');
  const entries = new Map<string, string>();
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [crc = 0, packed = 0, size = 0] = [16, 20, 24].map((field) => bytes.readUInt32LE(at + field));
    const name = bytes.subarray(at + 46, at + 46 + bytes.readUInt16LE(at + 28)).toString();
    const local = bytes.readUInt32LE(at + 42);
    const data = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const content = inflateRawSync(bytes.subarray(data, data + packed));
    if (bytes.readUInt32LE(local) !== 0x04034b50 || content.length !== size || crc32(content) !== crc)
      throw new Error(`${name} is damaged`);
    const after = [8, 12].map((field) => bytes.readUInt32LE(data + packed + field));
    if (after.join() !== [packed, size].join()) throw new Error(`${name} has another descriptor`);
    entries.set(name, content.toString());
    at += 46 + name.length;
  }
  if (at !== end) throw new Error('the directory has another length');
  return entries;
}

export interface Sheet {
  readonly name: string;
  readonly xml: string;
  /** Cells by their reference, such as `B2`. */
  readonly cells: Readonly<Record<string, string | number | boolean>>;
}

const days = (serial: string) =>
  new Date(Date.UTC(1899, 11, 30) + Math.round(Number(serial) * 86_400_000)).toISOString();
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };
const plain = (text: string) =>
  text
    .replaceAll(/&(\w+);/g, (_, name: string) => entities[name] ?? '?')
    .replaceAll(/_x([\dA-F]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

/** Reads the sheets of a workbook as Excel does: by the relations of its parts and the formats of its cells. */
export function sheetsOf(bytes: Buffer): readonly Sheet[] {
  const parts = unzipped(bytes);
  const part = (name: string) => {
    const text = parts.get(name);
    if (text === undefined) throw new Error(`${name} is missing`);
    if (!(parts.get('[Content_Types].xml') ?? '').includes(`"/${name}"`) && !name.endsWith('.rels'))
      throw new Error(`${name} has no type`);
    return text;
  };
  const book = /Target="([^"]+)"/.exec(part('_rels/.rels'))?.[1] ?? '';
  const targets = new Map(
    [...part('xl/_rels/workbook.xml.rels').matchAll(/Id="(\w+)"[^>]*Target="([^"]+)"/g)].map(
      ([, id, target]) => [id, target],
    ),
  );
  const styles = part('xl/styles.xml');
  const formats = [...(/<cellXfs.*<\/cellXfs>/s.exec(styles)?.[0] ?? '').matchAll(/numFmtId="(\d+)"/g)];
  return [...part(book).matchAll(/<sheet name="([^"]*)" sheetId="\d+" r:id="(\w+)"/g)].map(([, name, id]) => {
    const xml = part(`xl/${targets.get(id ?? '')}`);
    const cells = [...xml.matchAll(/<c r="([A-Z]+\d+)"(?: s="(\d)")?(?: t="(\w+)")?>(.*?)<\/c>/gs)].map(
      ([, reference = '', style = '0', type = 'n', content = '']) => {
        const value = plain(/<(?:v|t)(?: [^>]*)?>(.*)<\/(?:v|t)>/s.exec(content)?.[1] ?? '');
        if (type === 'inlineStr') return [reference, value] as const;
        if (type === 'b') return [reference, value === '1'] as const;
        const isDate = formats[Number(style)]?.[1] === '164';
        return [reference, isDate ? days(value) : Number(value)] as const;
      },
    );
    return { name: plain(name ?? ''), xml, cells: Object.fromEntries(cells) };
  });
}
