import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { needPackages } from './debian-packages.js'

/** The interpreter with Debian's packages; another one may lack them. */
const python = '/usr/bin/python3'

export const pythonClients = needPackages(
  ['python3-grpcio', 'python3-websockets', 'python3-requests'],
  () => spawnSync(python, ['-c', 'import grpc, websockets, requests']).status === 0,
)

/** Runs a script with a client of another implementation; resolves with the lines that it printed. */
export const play = (
  player: 'dataflow_player' | 'recognizer_player' | 'token_player',
  script: unknown,
): Promise<readonly Record<string, unknown>[]> =>
  new Promise((resolve, reject) => {
    const file = join(__dirname, 'python', `${player}.py`)
    const child = execFile(python, [file], { timeout: 115_000, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (error !== null) reject(new Error(`${player}: ${stderr.slice(-2000)}`))
      else
        resolve(
          stdout
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => JSON.parse(line) as Record<string, unknown>),
        )
    })
    child.stdin?.end(JSON.stringify(script))
  })
