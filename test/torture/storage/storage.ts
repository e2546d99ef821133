/** A mirror as the judge reads it. Statements must mean the same on both databases. */
export interface Sight {
  rows<Row>(sql: string): Promise<readonly Row[]>;
  /** False for a mirror whose first owner was killed between two migrations. */
  isWhole(): Promise<boolean>;
  /** Returns what the database's own check finds, or null. */
  damage(): Promise<string | null>;
}

/** The database of a place: a file, or a database of a server. */
export interface Storage {
  readonly kind: 'sqlite' | 'postgres';
  /** The setting `database` of the configuration. */
  readonly setting: string;
  /** Reads the mirror while a daemon has it open. */
  look<Result>(work: (sight: Sight) => Promise<Result>): Promise<Result>;
  /** Reads what a dead daemon left without changing it; null if there is nothing. */
  lookAtRemains<Result>(work: (sight: Sight) => Promise<Result>): Promise<Result | null>;
  /** Deletes the mirror. No process may have it open. */
  forget(): Promise<void>;
  /** Lets every lease expire, instead of half a minute of waiting. Does nothing if there is no mirror. */
  expireLeases(): Promise<void>;
  close(): Promise<void>;
}
