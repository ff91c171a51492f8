#!/usr/bin/env node
import { exitCode } from './process/failure.js'
import { processHost } from './process/host.js'
import { runCli } from './run-cli.js'

// Warnings of packages are for developers.
if (process.env['RXSPEECH_DEBUG'] === undefined) process.removeAllListeners('warning')

// A process also ends when it has nothing left to wait for. Before its work is done, that is a failure. The exit code
// is not set in advance, because commander would use it.
const onNothingLeft = (): void => {
  process.exitCode = exitCode.failed
  process.stderr.write('rxspeech: The command ended before its work was done; try again.\n')
}
process.once('beforeExit', onNothingLeft)

void runCli(process.argv.slice(2), processHost(process)).then((code) => {
  process.off('beforeExit', onNothingLeft)
  process.exitCode = code
  // Everything is closed by now. A forgotten handle must not keep the process alive.
  setTimeout(() => process.exit(code), 1000).unref()
})
