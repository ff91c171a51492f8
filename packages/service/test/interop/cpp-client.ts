import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { hasPrograms, needPackages } from './debian-packages.js'

const run = promisify(execFile)

export const cppPackages = needPackages(
  ['g++', 'pkg-config', 'protobuf-compiler', 'protobuf-compiler-grpc', 'libprotobuf-dev', 'libgrpc++-dev'],
  () => hasPrograms('g++', 'pkg-config', 'protoc', 'grpc_cpp_plugin'),
)

const sources = join(__dirname, 'cpp')

/**
 * Compiles the C++ client into a folder and returns the program. The headers of gRPC take the compiler 5 s, three times
 * that on a busy machine.
 */
export const compileCppClient = async (folder: string): Promise<string> => {
  const plugin = '--plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin'
  await run('protoc', ['-I', 'proto', `--cpp_out=${folder}`, `--grpc_out=${folder}`, plugin, 'dataflow.proto'])
  const { stdout } = await run('pkg-config', ['--cflags', '--libs', 'grpc++', 'protobuf'])
  const program = join(folder, 'dataflow_client')
  const includes = [`-I${folder}`, `-I${sources}`]
  const flags = ['-std=c++17', '-O0', '-Wall', '-Wextra', '-Werror', ...includes]
  const libraries = stdout.split(/\s+/).filter((flag) => flag !== '')
  await run('g++', [...flags, join(sources, 'dataflow_client.cc'), '-o', program, ...libraries], { timeout: 120_000 })
  return program
}

type Json = Readonly<Record<string, unknown>>

/** The output of the client, in order. */
export interface CppOutcome {
  readonly kinds: readonly string[]
  readonly responses: readonly Json[]
  readonly events: readonly Json[]
  /** The number of audio messages that it sent; none before a start was accepted. */
  readonly sent: number
  /** The number of events that it had read when it had sent the last audio message. */
  readonly eventsBeforeSent: number
  readonly status: string
}

export interface CppSession {
  readonly api: 'sync' | 'async'
  readonly address: string
  readonly ca: string
  readonly file: string
  readonly tenant: string
  readonly project: string
  readonly token: string
  readonly end: 'half-close' | 'finalize'
}

/** Runs one session to its end, whatever that is. */
export const runCppClient = (
  program: string,
  { api, address, ca, file, tenant, project, token, end }: CppSession,
): Promise<CppOutcome> =>
  new Promise((resolve, reject) => {
    const options = { env: { DATAFLOW_TOKEN: token }, timeout: 100_000, maxBuffer: 2 ** 24 }
    execFile(program, [api, address, ca, file, tenant, project, end], options, (error, stdout, stderr) => {
      // 1 means a status other than OK, which the last line has.
      if (error !== null && error.code !== 1) reject(new Error(`${String(error.code ?? error.signal)}: ${stderr}`))
      else resolve(outcomeOf(stdout))
    })
  })

const outcomeOf = (printed: string): CppOutcome => {
  const lines = printed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)] as const)
  const kinds = lines.map(([kind]) => kind)
  const texts = (wanted: string): readonly string[] => lines.flatMap(([kind, text]) => (kind === wanted ? [text] : []))
  const json = (wanted: string): readonly Json[] => texts(wanted).map((text) => JSON.parse(text) as Json)
  return {
    kinds,
    responses: json('RESPONSE'),
    events: json('EVENT'),
    sent: Number(texts('SENT')[0] ?? 0),
    eventsBeforeSent: kinds.slice(0, Math.max(0, kinds.indexOf('SENT'))).filter((kind) => kind === 'EVENT').length,
    status: texts('STATUS')[0] ?? '',
  }
}
