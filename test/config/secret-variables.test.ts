import { expect, test } from 'vitest';
import { environmentWithoutSecrets } from '../../src/config/secret-variables.js';
import { load } from './load-config.js';

test('secret variables: a command gets no variable that any option reads a secret from', () => {
  const secret = (option: string) => ({ env: `SECRET_${option}` });
  const content = {
    platform: {
      baseUrl: 'https://api.example.com',
      application: { clientId: 'app', clientSecret: secret('APPLICATION'), redirectUri: 'http://127.0.0.1/' },
      management: { token: secret('MANAGEMENT') },
    },
    database: 'postgres://rosterd@127.0.0.1/rosterd',
    databasePassword: secret('DATABASE'),
    sources: [
      { name: 'acme', token: secret('TOKEN') },
      {
        name: 'beta',
        credentials: { file: 'beta.json', clientId: 'beta', clientSecret: secret('CLIENT') },
        company: 'co_1',
      },
    ],
    receiver: { listen: '127.0.0.1:0', secrets: [secret('HOOK'), secret('OLD_HOOK')] },
    console: {
      listen: '127.0.0.1:0',
      auth: {
        tokens: [{ name: 'ada', role: 'viewer', token: secret('VIEWER') }],
        token: secret('CONSOLE'),
      },
    },
    notices: [
      { kind: 'slack', name: 'deals', webhookUrl: secret('SLACK') },
      { kind: 'http', name: 'crm', url: 'https://crm.example.com/', secret: secret('CRM') },
    ],
    afterSync: [{ kind: 'http', name: 'jobs', url: 'https://jobs.example.com/', secret: secret('JOBS') }],
  };
  const named = JSON.stringify(content).match(/SECRET_\w+/g) ?? [];
  expect(named).toHaveLength(12);
  const { config } = load(content);
  const env = Object.fromEntries(named.map((name) => [name, 'value']));
  const others = { PATH: '/bin', SECRET_OF_ANOTHER: 'value' };
  expect(environmentWithoutSecrets(config, { ...env, ...others, UNSET: undefined })).toEqual(others);
});
