import './keys.js';
import './plots.js';
import './times.js';
