import { readFileSync } from 'node:fs';

/**
 * Parses the footer of a Parquet file from its bytes, independently of the library that wrote it. The footer is one
 * struct in Thrift's compact protocol. Structs become maps by field number, and the names are given below.
 */
export interface ParquetColumn {
  readonly name: string;
  /** The physical type (`BOOLEAN`, `INT64`, `FIXED(16)`, `BYTE_ARRAY`), followed by the logical type. */
  readonly type: string;
  readonly nulls: bigint;
  /** Minimum and maximum over all row groups, for 64-bit integers and timestamps. */
  readonly min: bigint | null;
  readonly max: bigint | null;
}

type Value = boolean | bigint | Buffer | readonly Value[] | Struct;
interface Struct {
  readonly [field: number]: Value;
}

class Compact {
  #at = 0;
  constructor(private readonly bytes: Buffer) {}

  struct(): Struct {
    const fields: Record<number, Value> = {};
    for (let field = 0; ; ) {
      const head = this.#byte();
      if (head === 0) return fields;
      field = head >> 4 === 0 ? Number(this.#zigzag()) : field + (head >> 4);
      fields[field] = this.#value(head & 15);
    }
  }

  #value(type: number): Value {
    if (type === 1 || type === 2) return type === 1;
    if (type === 3) return BigInt(this.#byte());
    if (type <= 6) return this.#zigzag();
    if (type === 8) return this.#bytes(Number(this.#varint()));
    if (type === 9) return this.#list();
    if (type === 12) return this.struct();
    throw new Error(`a footer holds no values of type ${type}`);
  }

  #list(): readonly Value[] {
    const head = this.#byte();
    const size = head >> 4 === 15 ? Number(this.#varint()) : head >> 4;
    return Array.from({ length: size }, () => this.#value(head & 15));
  }

  #bytes(length: number): Buffer {
    this.#at += length;
    return this.bytes.subarray(this.#at - length, this.#at);
  }

  #byte(): number {
    return this.bytes.readUInt8(this.#at++);
  }

  #varint(): bigint {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const byte = BigInt(this.#byte());
      value |= (byte & 127n) << shift;
      if (byte < 128n) return value;
    }
  }

  #zigzag(): bigint {
    const value = this.#varint();
    return (value >> 1n) ^ -(value & 1n);
  }
}

const physical = ['BOOLEAN', 'INT32', 'INT64', 'INT96', 'FLOAT', 'DOUBLE', 'BYTE_ARRAY', 'FIXED'];
const structs = (value: Value | undefined) => (value ?? []) as readonly Struct[];
const struct = (value: Value | undefined) => (value ?? {}) as Struct;

export function parquetFooter(file: string): { rows: bigint; groups: number; columns: ParquetColumn[] } {
  const bytes = readFileSync(file);
  const marks = [bytes.subarray(0, 4), bytes.subarray(-4)].map(String);
  if (marks.join() !== 'PAR1,PAR1') throw new Error(`no Parquet file: ${marks.join()}`);
  const length = bytes.readUInt32LE(bytes.length - 8);
  const meta = new Compact(bytes.subarray(bytes.length - 8 - length, bytes.length - 8)).struct();
  const groups = structs(meta[4]);
  const [, ...elements] = structs(meta[2]);
  const columns = elements.map((element, at) => {
    const statistics = groups.map((group) => struct(struct(struct(structs(group[1])[at])[3])[12]));
    const ends = (field: number) =>
      statistics.flatMap(({ [field]: end }) =>
        Buffer.isBuffer(end) && end.length === 8 ? [end.readBigInt64LE()] : [],
      );
    return {
      name: String(element[4]),
      type: `${physical[Number(element[1])]}${meaning(element)}`,
      nulls: statistics.reduce((sum, { 3: nulls }) => sum + BigInt((nulls ?? 0n) as bigint), 0n),
      min: ends(6).reduce<bigint | null>((least, end) => (least === null || end < least ? end : least), null),
      max: ends(5).reduce<bigint | null>((most, end) => (most === null || end > most ? end : most), null),
    };
  });
  return { rows: meta[3] as bigint, groups: groups.length, columns };
}

/** Text and plain integers use the older converted type, a number; timestamps and decimals the newer logical type. */
function meaning({ 6: converted, 10: declared }: Struct): string {
  const logical = struct(declared);
  if (converted === 0n || 1 in logical) return ' STRING';
  if (converted === 18n) return ' INTEGER(64)';
  if (5 in logical) return ` DECIMAL(${struct(logical[5])[2]},${struct(logical[5])[1]})`;
  if (8 in logical) {
    const { 1: utc, 2: unit } = struct(logical[8]);
    return ` TIMESTAMP(${2 in struct(unit) ? 'micros' : 'other'},${utc === true ? 'UTC' : 'local'})`;
  }
  return '';
}
