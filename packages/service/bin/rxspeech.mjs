#!/usr/bin/env node
// npm links the command of a checkout when it installs it, before `dist` is built.
import '../dist/cli/main.js'
