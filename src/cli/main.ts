#!/usr/bin/env node
import { exitCode } from './process/exit-code.js'
import { processHost } from './process/host.js'
import { runCli } from './run-cli.js'

// Warnings about what packages do inside are for who develops with them.
if (process.env['RXSPEECH_DEBUG'] === undefined) process.removeAllListeners('warning')

// A process also ends when nothing is left for it to wait for. Before its work is done, that is a failure. The code is not
// set before: commander takes a code that is set for its own.
const onNothingLeft = (): void => {
  process.exitCode = exitCode.failed
  process.stderr.write('rxspeech: The command ended before its work was done; try again.\n')
}
process.once('beforeExit', onNothingLeft)

void runCli(process.argv.slice(2), processHost(process)).then((code) => {
  process.off('beforeExit', onNothingLeft)
  process.exitCode = code
  // All is closed by now. Should something have been forgotten, it must not keep the process.
  setTimeout(() => process.exit(code), 1000).unref()
})
