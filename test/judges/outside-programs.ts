import { accessSync, constants, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Programs by other authors that judge a database: their paths, or null where one is not installed. */
export interface OutsidePrograms {
  /** Of PostgreSQL: checks its tables and indexes. */
  readonly pgAmcheck: string | null;
  /** Of SQLite: compares two files. */
  readonly sqldiff: string | null;
}

export const noPrograms: OutsidePrograms = { pgAmcheck: null, sqldiff: null };

/** Debian keeps the programs of each version of a PostgreSQL server outside of the PATH. */
const serversOfDebian = '/usr/lib/postgresql';

/** Returns the installed programs, from the folders of the PATH and from Debian's. */
export function findPrograms(path: string): OutsidePrograms {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  return {
    pgAmcheck: firstOf([...folders, ...serverFolders()], 'pg_amcheck'),
    sqldiff: firstOf(folders, 'sqldiff'),
  };
}

/** Returns a line for the output of a run: that a program judges, or that it does not. */
export function told(name: string, program: string | null, from: string): string {
  return program === null
    ? `${name} was not used: it is not installed (${from})`
    : `${name} judges too: ${program}`;
}

export const toldPgAmcheck = ({ pgAmcheck }: OutsidePrograms): string =>
  told('pg_amcheck', pgAmcheck, "it comes with PostgreSQL's server");

export const toldSqldiff = ({ sqldiff }: OutsidePrograms): string =>
  told('sqldiff', sqldiff, "Debian's package sqlite3-tools");

/** The newest version first. */
function serverFolders(): readonly string[] {
  try {
    return readdirSync(serversOfDebian)
      .sort((one, other) => Number(other) - Number(one))
      .map((version) => join(serversOfDebian, version, 'bin'));
  } catch {
    return [];
  }
}

const firstOf = (folders: readonly string[], name: string): string | null =>
  folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
