import { execFileSync } from 'node:child_process';
import { packageRoot } from '../../src/runtime/package-root.js';

/** Runs a statement in DuckDB in a child process that gets only the file, as `FILE` in the statement. */
export function askDuckDb(file: string, sql: string): unknown {
  const script = `
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    await connection.run("SET TimeZone = 'UTC'");
    const read = await connection.runAndReadAll(process.argv[1]);
    console.log(JSON.stringify(read.getRowsJson()));`;
  const statement = sql.replace('FILE', `'${file.replaceAll("'", "''")}'`);
  const args = ['--input-type=module', '-e', script, statement];
  // The driver formats times in the zone of the process, whatever that of the connection.
  const env = { ...process.env, TZ: 'UTC' };
  return JSON.parse(execFileSync(process.execPath, args, { cwd: packageRoot, env, encoding: 'utf8' }));
}
