import { type Attempt, type HostFacts, python } from './attempt.ts'

/** Attempts to reach a server by every family of sockets, and the sockets of other programs. */
export const networkAttempts = ({ port, abstractSocket, siblingSocket }: HostFacts): readonly Attempt[] => [
  python('connect to a server by IPv4', `return socket.create_connection(("127.0.0.1", ${port}), 5).recv(100)`),
  python('connect to a server by IPv6', `s = socket.socket(socket.AF_INET6)\ns.connect(("::1", ${port}))\nreturn s.recv(100)`),
  python('send a datagram', `return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", ${port}))`),
  python('look up a name', 'return socket.getaddrinfo("example.com", 80)'),
  python('open a raw socket', 'return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)'),
  python('open a netlink socket', 'return socket.socket(16, socket.SOCK_RAW, 0)'),
  python('open a packet socket', 'return socket.socket(17, socket.SOCK_RAW, 3)'),
  python('open a crypto socket', 'return socket.socket(38, socket.SOCK_SEQPACKET, 0)'),
  python('open a socket to the hypervisor', 'return socket.socket(40, socket.SOCK_STREAM, 0)'),
  python(
    'open a socket of any other family',
    `for family in range(2, 46):
  try:
    return family, socket.socket(family, socket.SOCK_DGRAM, 0)
  except OSError:
    pass
raise OSError("every family is closed")`,
  ),
  python(
    'connect to a local socket without a file',
    `s = socket.socket(socket.AF_UNIX)\ns.connect("\\0" + ${JSON.stringify(abstractSocket)})\nreturn s.recv(100)`,
  ),
  python('connect to the socket of a sibling', `s = socket.socket(socket.AF_UNIX)\ns.connect(${JSON.stringify(siblingSocket)})`),
  python(
    'find the token of a sibling',
    `own = open("/daybook/run/token").read()
for folder, _, files in os.walk("/proc"):
  if "environ" in files and folder.count("/") == 2:
    text = open(folder + "/environ", "rb").read() + open(folder + "/cmdline", "rb").read()
    if own.encode() in text:
      return "a token is in the variables or the command of a process"
assert len([name for name in os.listdir("/proc") if name.isdigit()]) > 2, "there is no process of a sibling"`,
  ),
  python(
    'send a request without the token',
    `import json
s = socket.socket(socket.AF_UNIX)
s.connect("/daybook/run/requests.sock")
s.sendall(json.dumps({"kind": "fetch_ctx", "path": "secret"}).encode())
s.shutdown(socket.SHUT_WR)
answer = s.recv(1000)
assert json.loads(answer)["ok"], answer`,
  ),
  python(
    'send a request with a guessed token',
    `import json
s = socket.socket(socket.AF_UNIX)
s.connect("/daybook/run/requests.sock")
s.sendall(json.dumps({"token": "0" * 64, "kind": "fetch_ctx", "path": "secret"}).encode())
s.shutdown(socket.SHUT_WR)
answer = s.recv(1000)
assert json.loads(answer)["ok"], answer`,
  ),
  python(
    'put its own socket in the place of the one for requests',
    'os.unlink("/daybook/run/requests.sock")\nsocket.socket(socket.AF_UNIX).bind("/daybook/run/requests.sock")',
  ),
  python(
    'use up the connections for requests',
    `open_connections = []
for _ in range(200):
  s = socket.socket(socket.AF_UNIX)
  s.settimeout(5)
  s.connect("/daybook/run/requests.sock")
  open_connections.append(s)
for s in open_connections:
  s.send(b"x" * 100)
del s, open_connections
answer = fetch_ctx("a")
raise OSError(f"the runtime answers again: {answer}")`,
  ),
  {
    name: 'connect to a server (JavaScript)',
    language: 'javascript',
    code: `const { connect } = require('net')
const socket = connect(${port}, '127.0.0.1')
socket.on('data', (text) => console.log('ESCAPED', String(text)))
socket.on('error', (error) => console.log('stopped:', error.message))`,
  },
  {
    name: 'fetch a page (JavaScript)',
    language: 'javascript',
    code: `try {
  console.log('ESCAPED', await (await fetch('http://127.0.0.1:${port}')).text())
} catch (error) {
  console.log('stopped:', error.message)
}`,
  },
]
