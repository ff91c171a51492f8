// npm run faults [-- options]: plays faults of networks and services through this client, and prints what is lost.
import { processHost } from '../../packages/service/src/cli/process/host.js'
import { runCli } from '../../packages/service/src/cli/run-cli.js'
import { createFaultsProgram } from './command.js'

void runCli(process.argv.slice(2), processHost(process), createFaultsProgram).then((code) => {
  process.exitCode = code
})
