#!/usr/bin/env node
/* global require */
// The command is part of the package rxspeech; this one installs what it needs.
const { dirname, join } = require('node:path')

require(join(dirname(require.resolve('rxspeech/package.json')), 'dist/cjs/cli/main.js'))
