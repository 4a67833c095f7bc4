"""A real RTSP server, GStreamer's, for the tests of cameras. Runs with the system's Python.

    /usr/bin/python3 tests/faults/rtsp_server.py [--udp] [--digest]

Prints its port, and serves a test picture at /1 until its standard input ends. The user is admin,
the password hunter2.
"""

import sys
import threading

PIPELINE = (
    "( videotestsrc is-live=true ! video/x-raw,format=I420,width=160,height=120,framerate=10/1"
    " ! jpegenc ! rtpjpegpay name=pay0 pt=26 )"
)


def main():
    """Serve until the standard input ends."""
    import gi  # of the system's Python, which runs this; pytest reads the module with another

    gi.require_versions({"Gst": "1.0", "GstRtsp": "1.0", "GstRtspServer": "1.0"})
    from gi.repository import GLib, Gst, GstRtsp, GstRtspServer

    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service("0")
    auth, token = GstRtspServer.RTSPAuth(), GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "admin")
    if "--digest" in sys.argv:
        auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
        auth.add_digest("admin", "hunter2", token)
    else:
        auth.add_basic(GstRtspServer.RTSPAuth.make_basic("admin", "hunter2"), token)
    server.set_auth(auth)
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(PIPELINE)
    factory.set_shared(True)
    if "--udp" in sys.argv:
        factory.set_protocols(GstRtsp.RTSPLowerTrans.UDP)
    may = "admin,media.factory.access=true,media.factory.construct=true"
    factory.add_role_from_structure(Gst.Structure.new_from_string(may))
    server.get_mount_points().add_factory("/1", factory)
    server.attach(None)
    loop = GLib.MainLoop()
    print(server.get_bound_port(), flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), loop.quit()), daemon=True).start()
    loop.run()


if __name__ == "__main__":
    main()
