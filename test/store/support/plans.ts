import type { Kysely, KyselyPlugin } from 'kysely';
import { CompiledQuery } from 'kysely';

/** Returns the query plans of all statements that `work` runs, one step a line. */
export async function plansOf<Database>(
  db: Kysely<Database>,
  work: (db: Kysely<Database>) => Promise<unknown>,
  kind: 'sqlite' | 'postgres' = 'sqlite',
): Promise<readonly string[]> {
  const ran: CompiledQuery[] = [];
  const noting: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      ran.push(db.getExecutor().compileQuery(node, queryId));
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  await work(db.withPlugin(noting));
  const [explain, column] =
    kind === 'sqlite' ? (['EXPLAIN QUERY PLAN', 'detail'] as const) : (['EXPLAIN', 'QUERY PLAN'] as const);
  const steps: string[] = [];
  for (const { sql, parameters } of ran) {
    const plan = await db.executeQuery<Record<typeof column, string>>(
      CompiledQuery.raw(`${explain} ${sql}`, [...parameters]),
    );
    steps.push(...plan.rows.map((row) => row[column]));
  }
  return steps;
}

/** Returns the steps that read a whole table or index, or a range of one that no source bounds. */
export function wholeReads(steps: readonly string[], tables: RegExp): readonly string[] {
  return steps.filter((step) => {
    if (!tables.test(step)) return false;
    return step.startsWith('SCAN') || /\(\w+[<>]\?/.test(step);
  });
}
