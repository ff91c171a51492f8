// Where the time of a CPU profile went: the self time of every function, by the part of the house that it stands in.

const rooms = [
  ['voice activity', /fvad|service\/recognition\/(voice|noise|tone|fvad)|^wasm/],
  ['recognition', /service\/recognition\//],
  ['engine (null)', /service\/engine\/|testing\//],
  ['conversations', /service\/(conversation|nodes|project|access|monitor|operation)\//],
  ['links', /\/transport\/|service\/listen\//],
  ['codecs', /\/protocol\/|io-ts|fp-ts|\/audio\//],
  ['rxjs', /node_modules\/rxjs/],
  ['ws', /node_modules\/ws\//],
  ['grpc-js', /grpc|protobufjs/],
  ['node', /^node:/],
]

const roomOf = ({ functionName, url }) => {
  if (functionName === '(garbage collector)') return 'garbage collection'
  if (functionName === '(idle)') return 'idle'
  if (functionName === '(program)') return 'system calls, native code'
  return rooms.find(([, pattern]) => pattern.test(url))?.[0] ?? 'other'
}

/** Parts of the time that was not idle, biggest first. */
export const shares = ({ nodes, samples, timeDeltas }) => {
  const roomById = new Map(nodes.map(({ id, callFrame }) => [id, roomOf(callFrame)]))
  const times = new Map()
  for (const [at, id] of samples.entries()) {
    const room = roomById.get(id)
    times.set(room, (times.get(room) ?? 0) + timeDeltas[at])
  }
  times.delete('idle')
  const whole = [...times.values()].reduce((sum, one) => sum + one, 0)
  return [...times].map(([room, time]) => [room, time / whole]).toSorted((one, other) => other[1] - one[1])
}
