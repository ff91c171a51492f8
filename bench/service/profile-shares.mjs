// Where the time of a CPU profile is spent: the self time of every function, by module.

const modules = [
  ['voice activity', /fvad|recognition\/voice-activity\/|^wasm/],
  ['recognition', /server\/dist\/recognition\//],
  ['engine (null)', /engines\/dist\/|testing\//],
  ['sessions', /server\/dist\/(recognizer|dataflow|sessions|nodes|custom-nodes|project|identity|monitor|operations)\//],
  ['dialects', /dialects\/dist\//],
  ['links', /\/transport\/|server\/dist\/listen\//],
  ['codecs', /\/protocol\/|io-ts|fp-ts|\/audio\//],
  ['rxjs', /node_modules\/rxjs/],
  ['ws', /node_modules\/ws\//],
  ['grpc-js', /grpc|protobufjs/],
  ['node', /^node:/],
]

const moduleOf = ({ functionName, url }) => {
  if (functionName === '(garbage collector)') return 'garbage collection'
  if (functionName === '(idle)') return 'idle'
  if (functionName === '(program)') return 'system calls, native code'
  return modules.find(([, pattern]) => pattern.test(url))?.[0] ?? 'other'
}

/** Shares of the time that was not idle, largest first. */
export const shares = ({ nodes, samples, timeDeltas }) => {
  const moduleById = new Map(nodes.map(({ id, callFrame }) => [id, moduleOf(callFrame)]))
  const times = new Map()
  for (const [at, id] of samples.entries()) {
    const name = moduleById.get(id)
    times.set(name, (times.get(name) ?? 0) + timeDeltas[at])
  }
  times.delete('idle')
  const whole = [...times.values()].reduce((sum, one) => sum + one, 0)
  return [...times].map(([name, time]) => [name, time / whole]).toSorted((a, b) => b[1] - a[1])
}
