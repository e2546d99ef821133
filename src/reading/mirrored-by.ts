import { isFault } from '../domain/fault.js';
import { refuseAnyMirror, refuseOwnFile } from '../store/own-file.js';
import { isThere } from '../store/reads/is-there.js';
import { type DatabaseLocation, readMirror } from './read-mirror.js';

export { refuseAnyMirror, refuseOwnFile };

/**
 * Returns the sources with stored records of a company, whether the configuration names them or not. Empty while there
 * is no mirror yet.
 */
export async function mirroredBy(location: DatabaseLocation, company: string): Promise<readonly string[]> {
  try {
    if (!(await isThere(location))) return [];
    return await readMirror(location, async (db) => {
      const sources = await db.selectFrom('sources').select('name').orderBy('name').execute();
      const holding: string[] = [];
      for (const { name } of sources) {
        const record = await db
          .selectFrom('investments')
          .select('id')
          .where('source', '=', name)
          .where('company_id', '=', company)
          .limit(1)
          .executeTakeFirst();
        if (record !== undefined) holding.push(name);
      }
      return holding;
    });
  } catch (error) {
    // A file or database without a mirror contains no company.
    if (isFault(error, 'database_unusable')) return [];
    throw error;
  }
}
