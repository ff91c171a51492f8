// The service that `rxspeech bench` measures: the command `serve`, which ends with the process that started it.
import { processHost } from '../process/host.js'
import { runCli } from '../run-cli.js'

process.removeAllListeners('warning')
process.once('disconnect', () => process.exit(0))
// Ctrl-C is for the command that measures; this process only takes SIGTERM.
process.on('SIGINT', () => undefined)
const host = processHost(process)
const onSignal: typeof host.onSignal = (listener) => {
  const terminate = (): void => listener('SIGTERM')
  process.on('SIGTERM', terminate)
  return () => process.off('SIGTERM', terminate)
}
void runCli(process.argv.slice(2), Object.assign(Object.create(host) as typeof host, { onSignal })).then((code) =>
  process.exit(code),
)
