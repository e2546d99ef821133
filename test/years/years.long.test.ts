import { expect, test } from 'vitest';
import { freshDatabase } from '../postgres/fresh-database.js';
import { tempFolder } from '../store/temp-folder.js';
import { PostgresExam } from './postgres-exam.js';
import { runYears, type YearsAsk } from './run-years.js';
import { SqliteExam } from './sqlite-exam.js';

const exams: Readonly<Record<'sqlite' | 'postgres', (folder: string) => YearsAsk['exam']>> = {
  sqlite: (folder) => (from) => new SqliteExam(folder, from),
  postgres: () => async (from) => PostgresExam.open((await freshDatabase()).url, from),
};

/* `npm run simulate:years` runs two years, measures memory, and turns the machine off for longer than cursors last. */
test.each(['sqlite', 'postgres'] as const)(
  'years: twelve days from the rows of the first version, with three upgrades, end equal to the platform and flat (%s)',
  async (database) => {
    const folder = tempFolder();
    const { violations, quarters, counts } = await runYears({
      folder,
      exam: exams[database](folder),
      days: 12,
      seed: 4,
      daysPerQuarter: 3,
    });
    expect(violations).toEqual([]);
    expect(quarters).toHaveLength(3);
    expect(counts).toMatchObject({ upgrades: 3, 'ticks with a retired version: failed': 2 });
    expect(counts['webhooks accepted']).toBeGreaterThan(15);
    expect(counts['ticks: done']).toBeGreaterThan(50);
  },
);
