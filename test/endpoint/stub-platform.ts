import type { Api } from '../../src/client/api.js';

export const publicUrl = 'https://hooks.example.com/rosterd';

/** A platform that rotates the secret of one endpoint each time it is asked. */
export function platformWithEndpoint() {
  let rotations = 0;
  let asked = 0;
  const shown = (secret?: string) => ({
    id: 'whe_1',
    type: 'webhook_endpoint',
    attributes: { url: publicUrl, installation: null, mode: 'live', events: ['x'], enabled: true, secret },
  });
  const api: Api = async ({ path, method }) => {
    asked += 1;
    if (method === 'POST' && path.endsWith('/rotate_secret')) rotations += 1;
    const data = method === 'POST' ? shown(`whsec_new${rotations}`) : [shown()];
    return { status: 200, body: { data, meta: {} }, text: '', requestId: null };
  };
  return { api, rotations: () => rotations, asked: () => asked };
}
