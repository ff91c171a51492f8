#!/usr/bin/env node
import { processHost } from './process/host.js'
import { runCli } from './run-cli.js'

// Warnings about what packages do inside are for who develops with them.
if (process.env['RXSPEECH_DEBUG'] === undefined) process.removeAllListeners('warning')

void runCli(process.argv.slice(2), processHost(process)).then((code) => {
  process.exitCode = code
  // All is closed by now. Should something have been forgotten, it must not keep the process.
  setTimeout(() => process.exit(code), 1000).unref()
})
