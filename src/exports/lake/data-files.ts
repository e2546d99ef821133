import { dirname, join, posix } from 'node:path';
import { type Random, randomText } from '../../runtime/random.js';
import { quotedText, type Workshop } from '../duckdb.js';
import { type LakeDisk, measured } from './disk.js';
import { type LakeFile, numberText } from './layout.js';

export interface DataFilesParts {
  readonly folder: string;
  /** Where a file is until it is complete. */
  readonly workshop: string;
  readonly disk: LakeDisk;
  readonly random: Random;
  readonly duckdb: Workshop;
  readonly snapshot: number;
}

/** Writes the data files of one snapshot, and counts them. */
export class DataFiles {
  /** Folders with new entries, synced before anything refers to them. */
  readonly #touched = new Set<string>();
  #count = 0;
  #bytes = 0;

  constructor(private readonly parts: DataFilesParts) {}

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Writes the rows of a query to a Parquet file, and gives it its name when it is complete and on disk. */
  async write(below: string, query: string, word: string): Promise<LakeFile> {
    const { folder, workshop, disk, random, duckdb, snapshot } = this.parts;
    const name = `${numberText(snapshot)}-${word}-${randomText(random, 8)}.parquet`;
    const path = posix.join(below, name);
    const unfinished = join(workshop, name);
    await duckdb.copy(query, unfinished);
    await disk.protect(unfinished);
    await disk.sync(unfinished);
    const measure = await measured(unfinished);
    const [counted] = await duckdb.rows(`SELECT count(*) FROM read_parquet(${quotedText(unfinished)})`);
    const file = join(folder, path);
    await disk.makeFolder(dirname(file));
    await disk.rename(unfinished, file);
    for (let at = dirname(file); at.length >= folder.length; at = dirname(at)) this.#touched.add(at);
    this.#count += 1;
    this.#bytes += measure.bytes;
    return { path, rows: Number(counted?.[0] ?? 0), ...measure };
  }

  async syncFolders(): Promise<void> {
    for (const folder of this.#touched) await this.parts.disk.syncFolder(folder);
  }
}
