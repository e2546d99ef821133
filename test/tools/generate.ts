import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';
import { readOptions } from '../support/options.js';
import { generatedFiles } from './generated.js';

readOptions({
  name: 'npm run generate',
  about: 'Writes the files that are made from the code: schemas, the dictionary, parts of pages.',
  options: {},
});
for (const [path, text] of generatedFiles()) writeFileSync(join(packageRoot, path), text);
