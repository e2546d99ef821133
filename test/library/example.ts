import { createMirror, Fault, type MirrorDatabase } from 'rosterd';

// A program with its own mirror that runs typed queries and listens for every change.
const mirror = await createMirror({
  config: {
    platform: { baseUrl: process.env.PLATFORM ?? 'http://127.0.0.1:4010' },
    database: 'sqlite:./mirror.db',
    sources: [{ name: 'acme', token: { env: 'ACME_TOKEN' } }],
  },
});

mirror.onChange((changes) => {
  for (const { kind, id } of changes) console.log('change', kind, id ?? '(all)');
});

try {
  const [result] = await mirror.tick();
  console.log('tick', result?.source, result?.report.outcome);

  const raised = await mirror.query
    .selectFrom('round_totals')
    .select(({ fn }) => [
      'currency',
      fn.sum<number>('raised_cents').as('cents'),
      fn.sum<number>('investments').as('rows'),
    ])
    .groupBy('currency')
    .orderBy('currency')
    .execute();
  for (const { currency, cents, rows } of raised) console.log('raised', currency, cents, rows);

  const status: MirrorDatabase['investments']['status'] = 'active';
  const active = await mirror.query
    .selectFrom('investments')
    .select('id')
    .where('status', '=', status)
    .execute();
  console.log('active', active.length);

  await mirror.start();
  console.log('health', (await mirror.status()).health);
  await mirror.tick('nobody');
} catch (error) {
  console.log('fault', error instanceof Fault ? error.code : error);
} finally {
  await mirror.stop();
}
