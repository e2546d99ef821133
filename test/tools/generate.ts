import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';
import { generatedFiles } from './generated.js';

for (const [path, text] of generatedFiles()) writeFileSync(join(packageRoot, path), text);
